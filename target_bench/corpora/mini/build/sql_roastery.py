"""The database ``coffee_roastery`` (invented): farms, green lots, roasts, customers and orders.

Two of its names need quotes in SQL: ``green lot`` has a blank, ``order`` is a keyword.
"""

from .ask_sql import sql

SCRIPT = """\
CREATE TABLE farm (
  farm_id INTEGER PRIMARY KEY,
  farm_name TEXT NOT NULL,
  country TEXT NOT NULL,
  altitude_m INTEGER NOT NULL,
  certificate TEXT
);
INSERT INTO farm VALUES
  (1, 'Finca La Aurora', 'Colombia', 1750, 'organic'),
  (2, 'Finca El Mirador', 'Guatemala', 1600, NULL),
  (3, 'Kilenso Station', 'Ethiopia', 2050, 'organic'),
  (4, 'Fazenda Boa Sorte', 'Brazil', 1100, NULL),
  (5, 'Gatura Estate', 'Kenya', 1850, 'fair trade'),
  (6, 'Fazenda Rio Claro', 'Brazil', 980, 'organic');
CREATE TABLE "green lot" (
  lot_id INTEGER PRIMARY KEY,
  farm_id INTEGER NOT NULL REFERENCES farm (farm_id),
  variety TEXT NOT NULL,
  process TEXT NOT NULL,
  harvest_year INTEGER NOT NULL,
  bags INTEGER NOT NULL,
  price_per_kg REAL NOT NULL
);
INSERT INTO "green lot" VALUES
  (1, 1, 'Caturra', 'washed', 2022, 40, 6.2),
  (2, 1, 'Geisha', 'natural', 2023, 5, 24.0),
  (3, 2, 'Bourbon', 'washed', 2022, 30, 5.8),
  (4, 3, 'Heirloom', 'natural', 2023, 25, 8.4),
  (5, 3, 'Heirloom', 'washed', 2023, 20, 7.9),
  (6, 4, 'Catuai', 'pulped', 2022, 120, 3.6),
  (7, 5, 'SL28', 'washed', 2023, 18, 9.7),
  (8, 4, 'Bourbon', 'natural', 2023, 80, 4.1);
CREATE TABLE roast (
  roast_id INTEGER PRIMARY KEY,
  lot_id INTEGER NOT NULL REFERENCES "green lot" (lot_id),
  roasted_on TEXT NOT NULL,
  level TEXT NOT NULL,
  weight_in_kg REAL NOT NULL,
  weight_out_kg REAL NOT NULL
);
INSERT INTO roast VALUES
  (1, 1, '2023-02-06', 'medium', 60.0, 50.4),
  (2, 3, '2023-02-07', 'dark', 60.0, 48.6),
  (3, 6, '2023-02-20', 'dark', 120.0, 97.2),
  (4, 4, '2023-03-13', 'light', 30.0, 26.1),
  (5, 6, '2023-04-03', 'medium', 90.0, 75.6),
  (6, 2, '2023-06-12', 'light', 15.0, 13.2),
  (7, 7, '2023-09-04', 'light', 30.0, 26.4),
  (8, 8, '2023-10-16', 'dark', 120.0, 96.0),
  (9, 1, '2024-01-15', 'medium', 60.0, 50.1),
  (10, 5, '2024-02-05', 'light', 45.0, 39.6);
CREATE TABLE customer (
  customer_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  city TEXT NOT NULL,
  kind TEXT NOT NULL,
  customer_since TEXT NOT NULL
);
INSERT INTO customer VALUES
  (1, 'Cafe Nord', 'Hamburg', 'cafe', '2019-04-01'),
  (2, 'Espresso Bar Luna', 'Vienna', 'cafe', '2021-08-15'),
  (3, 'Green Grocer', 'Hamburg', 'shop', '2020-02-10'),
  (4, 'Mira Petrov', 'Sofia', 'private', '2023-01-05'),
  (5, 'Hotel Astoria', 'Vienna', 'hotel', '2022-11-23'),
  (6, 'Jonas Weber', 'Hamburg', 'private', '2023-05-30'),
  (7, 'Bean & Leaf', 'Prague', 'shop', '2018-06-18');
CREATE TABLE "order" (
  order_id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customer (customer_id),
  ordered_on TEXT NOT NULL,
  shipped_on TEXT
);
INSERT INTO "order" VALUES
  (1, 1, '2023-02-10', '2023-02-11'), (2, 2, '2023-02-22', '2023-02-27'),
  (3, 3, '2023-03-15', '2023-03-16'), (4, 4, '2023-03-20', '2023-03-29'),
  (5, 1, '2023-04-10', '2023-04-11'), (6, 5, '2023-06-20', '2023-06-21'),
  (7, 6, '2023-09-10', '2023-09-12'), (8, 2, '2023-10-20', '2023-10-23'),
  (9, 1, '2023-11-05', '2023-11-06'), (10, 5, '2024-01-20', '2024-01-22'),
  (11, 3, '2024-02-08', NULL), (12, 4, '2024-02-12', NULL);
CREATE TABLE order_item (
  order_id INTEGER NOT NULL REFERENCES "order" (order_id),
  line_no INTEGER NOT NULL,
  roast_id INTEGER NOT NULL REFERENCES roast (roast_id),
  quantity_kg REAL NOT NULL,
  price_eur_per_kg REAL NOT NULL,
  PRIMARY KEY (order_id, line_no)
);
INSERT INTO order_item VALUES
  (1, 1, 1, 10.0, 18.0), (1, 2, 2, 8.0, 16.5), (2, 1, 3, 20.0, 12.0), (3, 1, 4, 4.0, 26.0),
  (3, 2, 3, 6.0, 13.0), (4, 1, 4, 1.0, 29.0), (5, 1, 5, 15.0, 13.5), (6, 1, 6, 2.0, 68.0),
  (6, 2, 5, 12.0, 14.0), (7, 1, 7, 0.5, 34.0), (8, 1, 8, 25.0, 12.5), (9, 1, 8, 10.0, 12.5),
  (9, 2, 7, 3.0, 30.0), (10, 1, 9, 18.0, 18.0), (11, 1, 10, 5.0, 25.0), (12, 1, 10, 1.0, 28.0);
"""

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
