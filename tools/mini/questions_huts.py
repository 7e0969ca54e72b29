"""Questions on the invented database ``mountain_huts``."""

from .sql_questions import sql

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
