"""Questions on the invented database ``coffee_roastery``.

Two of its names need quotes in SQL: ``green lot`` has a blank, ``order`` is a keyword.
"""

from .sql_questions import sql

QUESTIONS = [
    sql("How many farms do we buy coffee from?", "SELECT count(*) FROM farm"),
    sql(
        "Which farms are in Brazil?",
        "SELECT farm_name FROM farm WHERE country = 'Brazil'",
    ),
    sql(
        "Which farms hold no certificate?",
        "SELECT farm_name FROM farm WHERE certificate IS NULL",
    ),
    sql(
        "What is the price per kilogram of the most expensive green lot?",
        'SELECT max(price_per_kg) FROM "green lot"',
    ),
    sql(
        "List the varieties of the green coffee lots harvested in 2023, each once.",
        'SELECT DISTINCT variety FROM "green lot" WHERE harvest_year = 2023',
    ),
    sql(
        "How many customers of each kind does the roastery have?",
        "SELECT kind, count(*) FROM customer GROUP BY kind",
    ),
    sql(
        "Which customers are in Hamburg, by how long they have been customers, oldest first?",
        "SELECT name FROM customer WHERE city = 'Hamburg' ORDER BY customer_since",
    ),
    sql(
        "Name the farm of each green lot with the lot's variety and process.",
        "SELECT f.farm_name, g.variety, g.process FROM farm AS f "
        'JOIN "green lot" AS g ON f.farm_id = g.farm_id',
    ),
    sql(
        "How many orders has the coffee roastery not shipped?",
        'SELECT count(*) FROM "order" WHERE shipped_on IS NULL',
        "orders that were not shipped have no date in shipped_on",
    ),
    sql(
        "How many bags of green coffee come from each country?",
        'SELECT f.country, sum(g.bags) FROM farm AS f JOIN "green lot" AS g '
        "ON f.farm_id = g.farm_id GROUP BY f.country",
    ),
    sql(
        "From which farm have we no green lot?",
        'SELECT farm_name FROM farm WHERE farm_id NOT IN (SELECT farm_id FROM "green lot")',
    ),
    sql(
        "Which roasts lost more than 18 percent of their weight? Show id and roasting level.",
        "SELECT roast_id, level FROM roast "
        "WHERE (weight_in_kg - weight_out_kg) / weight_in_kg > 0.18",
        "the loss is (weight_in_kg - weight_out_kg) / weight_in_kg",
    ),
    sql(
        "What is the average loss of weight for each roasting level, in kilograms?",
        "SELECT level, avg(weight_in_kg - weight_out_kg) FROM roast GROUP BY level",
    ),
    sql(
        "What was each roastery customer's total bill? Show the name and the euros, highest first.",
        "SELECT c.name, sum(i.quantity_kg * i.price_eur_per_kg) FROM customer AS c "
        'JOIN "order" AS o ON c.customer_id = o.customer_id '
        "JOIN order_item AS i ON o.order_id = i.order_id GROUP BY c.name "
        "ORDER BY sum(i.quantity_kg * i.price_eur_per_kg) DESC",
        "a bill is the sum of quantity_kg * price_eur_per_kg",
    ),
    sql(
        "Which orders hold coffee from Ethiopia? Show each order's id once.",
        "SELECT DISTINCT i.order_id FROM order_item AS i JOIN roast AS r "
        'ON i.roast_id = r.roast_id JOIN "green lot" AS g ON r.lot_id = g.lot_id '
        "JOIN farm AS f ON g.farm_id = f.farm_id WHERE f.country = 'Ethiopia'",
    ),
    sql(
        "Which customers of the roastery have never ordered?",
        'SELECT name FROM customer WHERE customer_id NOT IN (SELECT customer_id FROM "order")',
    ),
    sql(
        "In which cities are there both cafes and hotels among the customers?",
        "SELECT city FROM customer WHERE kind = 'cafe' "
        "INTERSECT SELECT city FROM customer WHERE kind = 'hotel'",
    ),
    sql(
        "Which countries have farms with organic certificates but none without any certificate?",
        "SELECT country FROM farm WHERE certificate = 'organic' "
        "EXCEPT SELECT country FROM farm WHERE certificate IS NULL",
    ),
    sql(
        "Which orders took more than three days to ship? Show order id and days.",
        'SELECT order_id, julianday(shipped_on) - julianday(ordered_on) FROM "order" '
        "WHERE julianday(shipped_on) - julianday(ordered_on) > 3",
        "the days to ship are shipped_on - ordered_on",
    ),
    sql(
        "How many coffee orders came in each quarter of 2023?",
        "SELECT (CAST(strftime('%m', ordered_on) AS INTEGER) + 2) / 3, count(*) FROM \"order\" "
        "WHERE strftime('%Y', ordered_on) = '2023' "
        "GROUP BY (CAST(strftime('%m', ordered_on) AS INTEGER) + 2) / 3",
        "the quarter is (month + 2) / 3 in whole numbers",
    ),
    sql(
        "Which green lot is dearer than the average lot of its own farm? Show the lot's id.",
        'SELECT g.lot_id FROM "green lot" AS g WHERE g.price_per_kg > '
        '(SELECT avg(o.price_per_kg) FROM "green lot" AS o WHERE o.farm_id = g.farm_id)',
    ),
    sql(
        "Who ordered the most kilograms in a single order? Give the customer's name.",
        'SELECT c.name FROM customer AS c JOIN "order" AS o ON c.customer_id = o.customer_id '
        "JOIN order_item AS i ON o.order_id = i.order_id GROUP BY o.order_id "
        "ORDER BY sum(i.quantity_kg) DESC LIMIT 1",
    ),
    sql(
        "What is the average altitude of the farms whose coffee was roasted light?",
        "SELECT avg(altitude_m) FROM farm WHERE farm_id IN (SELECT g.farm_id "
        "FROM \"green lot\" AS g JOIN roast AS r ON g.lot_id = r.lot_id WHERE r.level = 'light')",
        "roasted light refers to level = 'light'",
    ),
    sql(
        "Show the dates and levels of all roasts of 2024.",
        "SELECT roasted_on, level FROM roast WHERE roasted_on LIKE '2024-%'",
    ),
    sql(
        "Which coffee processes are used for lots of at least 50 bags in total?",
        'SELECT process FROM "green lot" GROUP BY process HAVING sum(bags) >= 50',
    ),
]
