TABLE_COL_NAME = "table"
TABLE_ID_COL_NAME = "table_id"
DATABASE_ID_COL_NAME = "database_id"
