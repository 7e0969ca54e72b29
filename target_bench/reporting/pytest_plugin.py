"""Nothing: installations made before this file was emptied name it as a plug-in of pytest."""
