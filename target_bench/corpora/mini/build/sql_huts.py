"""The database ``mountain_huts`` (invented): regions, huts, trails, guests and bookings."""

from .ask_sql import sql

SCRIPT = """\
CREATE TABLE region (
  region_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  country TEXT NOT NULL,
  highest_peak TEXT,
  peak_height_m INTEGER
);
INSERT INTO region VALUES
  (1, 'Silberkamm', 'Austria', 'Hoher Riegel', 3412),
  (2, 'Val Serena', 'Italy', 'Cima Lunga', 2987),
  (3, 'Ostgrat', 'Switzerland', 'Graues Horn', 3651),
  (4, 'Lac Noir', 'France', 'Aiguille Verte du Lac', 3120),
  (5, 'Nebelwald', 'Germany', NULL, NULL);
CREATE TABLE hut (
  hut_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  region_id INTEGER NOT NULL REFERENCES region (region_id),
  altitude_m INTEGER NOT NULL,
  beds INTEGER NOT NULL,
  opened_year INTEGER,
  staffed INTEGER NOT NULL
);
INSERT INTO hut VALUES
  (1, 'Riegelhaus', 1, 2240, 84, 1897, 1),
  (2, 'Adlerblick', 1, 2705, 46, 1923, 1),
  (3, 'Biwak am Joch', 1, 3010, 8, 1978, 0),
  (4, 'Rifugio Serena', 2, 1980, 62, 1931, 1),
  (5, 'Rifugio Tre Laghi', 2, 2310, 30, 1965, 1),
  (6, 'Hornhaus', 3, 2890, 110, 1911, 1),
  (7, 'Gletscherbiwak', 3, 3205, 12, 1989, 0),
  (8, 'Refuge du Lac Noir', 4, 2105, 54, 1954, 1),
  (9, 'Refuge des Bergers', 4, 1760, 24, 2004, 0);
CREATE TABLE trail (
  trail_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  region_id INTEGER NOT NULL REFERENCES region (region_id),
  length_km REAL NOT NULL,
  ascent_m INTEGER NOT NULL,
  difficulty TEXT NOT NULL
);
INSERT INTO trail VALUES
  (1, 'Silver Ridge Traverse', 1, 24.5, 1980, 'hard'),
  (2, 'Marmot Path', 1, 8.2, 420, 'easy'),
  (3, 'Three Lakes Loop', 2, 13.4, 890, 'moderate'),
  (4, 'Horn Climb', 3, 17.8, 1610, 'hard'),
  (5, 'Glacier View', 3, 9.6, 760, 'moderate'),
  (6, 'Shepherds Round', 4, 11.1, 540, 'easy'),
  (7, 'Black Lake Circuit', 4, 15.9, 1020, 'moderate');
CREATE TABLE trail_stage (
  trail_id INTEGER NOT NULL REFERENCES trail (trail_id),
  stage_no INTEGER NOT NULL,
  from_hut_id INTEGER NOT NULL REFERENCES hut (hut_id),
  to_hut_id INTEGER NOT NULL REFERENCES hut (hut_id),
  hours REAL NOT NULL,
  PRIMARY KEY (trail_id, stage_no)
);
INSERT INTO trail_stage VALUES
  (1, 1, 1, 2, 4.5), (1, 2, 2, 3, 3.0), (1, 3, 3, 1, 5.5), (2, 1, 1, 1, 2.5),
  (3, 1, 4, 5, 3.5), (3, 2, 5, 4, 2.5), (4, 1, 6, 7, 6.0), (4, 2, 7, 6, 4.0),
  (5, 1, 6, 6, 3.5), (6, 1, 9, 9, 4.0), (7, 1, 9, 8, 3.0), (7, 2, 8, 9, 2.5);
CREATE TABLE guest (
  guest_id INTEGER PRIMARY KEY,
  first_name TEXT NOT NULL,
  last_name TEXT NOT NULL,
  home_country TEXT NOT NULL,
  club_member_since TEXT
);
INSERT INTO guest VALUES
  (1, 'Anna', 'Moser', 'Austria', '2011-03-01'),
  (2, 'Bruno', 'Keller', 'Switzerland', '1998-06-15'),
  (3, 'Chiara', 'Fontana', 'Italy', NULL),
  (4, 'David', 'Okafor', 'United Kingdom', '2019-01-20'),
  (5, 'Elise', 'Marchand', 'France', '2005-09-09'),
  (6, 'Finn', 'Larsen', 'Denmark', NULL),
  (7, 'Greta', 'Moser', 'Germany', '2021-11-30'),
  (8, 'Hana', 'Novak', 'Czechia', NULL),
  (9, 'Ivo', 'Keller', 'Switzerland', '2015-05-05'),
  (10, 'Jana', 'Bauer', 'Germany', NULL),
  (11, 'Karl', 'Huber', 'Austria', '2009-02-14');
CREATE TABLE booking (
  booking_id INTEGER PRIMARY KEY,
  guest_id INTEGER NOT NULL REFERENCES guest (guest_id),
  hut_id INTEGER NOT NULL REFERENCES hut (hut_id),
  arrival TEXT NOT NULL,
  nights INTEGER NOT NULL,
  beds_booked INTEGER NOT NULL,
  price_eur REAL NOT NULL,
  status TEXT NOT NULL
);
INSERT INTO booking VALUES
  (1, 1, 1, '2023-07-02', 2, 2, 168.0, 'confirmed'),
  (2, 1, 2, '2023-07-04', 1, 2, 92.0, 'confirmed'),
  (3, 2, 6, '2023-07-15', 3, 1, 141.0, 'confirmed'),
  (4, 3, 4, '2023-08-01', 1, 4, 152.0, 'confirmed'),
  (5, 4, 1, '2023-08-12', 2, 1, 88.0, 'cancelled'),
  (6, 5, 8, '2023-08-19', 4, 2, 304.0, 'confirmed'),
  (7, 6, 6, '2023-09-03', 1, 2, 98.0, 'waiting'),
  (8, 7, 2, '2024-06-21', 2, 3, 270.0, 'confirmed'),
  (9, 8, 4, '2024-07-06', 2, 2, 160.0, 'confirmed'),
  (10, 2, 7, '2024-07-18', 1, 1, 15.0, 'confirmed'),
  (11, 2, 6, '2024-07-19', 2, 1, 96.0, 'confirmed'),
  (12, 9, 6, '2024-07-19', 2, 1, 96.0, 'cancelled'),
  (13, 5, 8, '2024-08-03', 1, 2, 80.0, 'confirmed'),
  (14, 3, 5, '2024-08-10', 3, 2, 222.0, 'confirmed'),
  (15, 4, 1, '2024-08-24', 1, 2, 90.0, 'confirmed'),
  (16, 1, 6, '2024-09-07', 1, 4, 204.0, 'waiting'),
  (17, 7, 9, '2024-09-14', 2, 5, 75.0, 'confirmed');
"""

QUESTIONS = [
    sql("How many mountain huts are there in all?", "SELECT count(*) FROM hut"),
    sql(
        "List the names of all huts that nobody looks after.",
        "SELECT name FROM hut WHERE staffed = 0",
        "a hut that is looked after has staffed = 1",
    ),
    sql(
        "Which hiking trails are hard? Show their names and lengths.",
        "SELECT name, length_km FROM trail WHERE difficulty = 'hard'",
    ),
    sql(
        "What is the average number of beds of a hut?",
        "SELECT avg(beds) FROM hut",
    ),
    sql(
        "Show the name and altitude of every hut, the highest first.",
        "SELECT name, altitude_m FROM hut ORDER BY altitude_m DESC",
    ),
    sql(
        "Which hut lies highest of all?",
        "SELECT name FROM hut ORDER BY altitude_m DESC LIMIT 1",
    ),
    sql(
        "For each trail difficulty, how many trails are there?",
        "SELECT difficulty, count(*) FROM trail GROUP BY difficulty",
    ),
    sql(
        "What are the names of the huts in the region Silberkamm?",
        "SELECT h.name FROM hut AS h JOIN region AS r ON h.region_id = r.region_id "
        "WHERE r.name = 'Silberkamm'",
    ),
    sql(
        "Which regions have no known highest peak?",
        "SELECT name FROM region WHERE highest_peak IS NULL",
    ),
    sql(
        "How many beds do the huts of each region have together? Give the region's name.",
        "SELECT r.name, sum(h.beds) FROM region AS r JOIN hut AS h ON r.region_id = h.region_id "
        "GROUP BY r.name",
    ),
    sql(
        "Which regions have at least two huts with more than 40 beds?",
        "SELECT r.name FROM region AS r JOIN hut AS h ON r.region_id = h.region_id "
        "WHERE h.beds > 40 GROUP BY r.name HAVING count(*) >= 2",
    ),
    sql(
        "Name the huts that have never been booked.",
        "SELECT name FROM hut WHERE hut_id NOT IN (SELECT hut_id FROM booking)",
    ),
    sql(
        "Which huts have more beds than the average hut?",
        "SELECT name FROM hut WHERE beds > (SELECT avg(beds) FROM hut)",
    ),
    sql(
        "First and last names of the guests who booked the Hornhaus and were confirmed, "
        "each guest once.",
        "SELECT DISTINCT g.first_name, g.last_name FROM guest AS g JOIN booking AS b "
        "ON g.guest_id = b.guest_id JOIN hut AS h ON b.hut_id = h.hut_id "
        "WHERE h.name = 'Hornhaus' AND b.status = 'confirmed'",
    ),
    sql(
        "What did the hut stays confirmed in 2024 bring in, in euros?",
        "SELECT sum(price_eur) FROM booking WHERE status = 'confirmed' "
        "AND strftime('%Y', arrival) = '2024'",
        "confirmed refers to status = 'confirmed'; the year is that of the arrival",
    ),
    sql(
        "How many bookings were there for arrivals in each month of 2023?",
        "SELECT strftime('%m', arrival), count(*) FROM booking "
        "WHERE arrival BETWEEN '2023-01-01' AND '2023-12-31' GROUP BY strftime('%m', arrival)",
    ),
    sql(
        "Which trail takes the most hours when all its stages are added up?",
        "SELECT t.name FROM trail AS t JOIN trail_stage AS s ON t.trail_id = s.trail_id "
        "GROUP BY t.name ORDER BY sum(s.hours) DESC LIMIT 1",
    ),
    sql(
        "Which guest spent the most on confirmed hut bookings? Give first and last name.",
        "SELECT g.first_name, g.last_name FROM guest AS g JOIN booking AS b "
        "ON g.guest_id = b.guest_id WHERE b.status = 'confirmed' GROUP BY g.guest_id "
        "ORDER BY sum(b.price_eur) DESC LIMIT 1",
    ),
    sql(
        "From which countries do guests come in whose mountains there is also a region of ours?",
        "SELECT home_country FROM guest INTERSECT SELECT country FROM region",
    ),
    sql(
        "Show the ids of the club members among the guests who have booked no hut at all.",
        "SELECT guest_id FROM guest WHERE club_member_since IS NOT NULL "
        "EXCEPT SELECT guest_id FROM booking",
        "club members have a date in club_member_since",
    ),
    sql(
        "Which guests booked both the Riegelhaus and the Adlerblick? Show their ids.",
        "SELECT b.guest_id FROM booking AS b JOIN hut AS h ON b.hut_id = h.hut_id "
        "WHERE h.name = 'Riegelhaus' INTERSECT SELECT b.guest_id FROM booking AS b "
        "JOIN hut AS h ON b.hut_id = h.hut_id WHERE h.name = 'Adlerblick'",
    ),
    sql(
        "For each stage of the Silver Ridge Traverse, in order, name the hut it starts from and "
        "the hut it ends at.",
        "SELECT s.stage_no, a.name, z.name FROM trail_stage AS s JOIN trail AS t "
        "ON s.trail_id = t.trail_id JOIN hut AS a ON s.from_hut_id = a.hut_id "
        "JOIN hut AS z ON s.to_hut_id = z.hut_id WHERE t.name = 'Silver Ridge Traverse' "
        "ORDER BY s.stage_no",
    ),
    sql(
        "What share of all hut bookings was cancelled?",
        "SELECT CAST(sum(status = 'cancelled') AS REAL) / count(*) FROM booking",
        "share = bookings with status = 'cancelled' / all bookings",
    ),
    sql(
        "Which staffed huts opened before 1930?",
        "SELECT name FROM hut WHERE staffed = 1 AND opened_year < 1930",
        "a staffed hut has staffed = 1",
    ),
    sql(
        "What are the length and the ascent of the trail called Marmot Path?",
        "SELECT length_km, ascent_m FROM trail WHERE name = 'Marmot Path'",
    ),
]
