"""What people say: which tables answer a question, and how good an answer is."""
