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
