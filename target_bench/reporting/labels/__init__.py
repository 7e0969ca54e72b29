"""Labels by people: pools of tables to judge, the form, what comes back, how many it takes."""
