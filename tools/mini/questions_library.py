"""Questions on the invented database ``town_library``."""

from .sql_questions import sql

QUESTIONS = [
    sql("How many books are in the library's catalogue?", "SELECT count(*) FROM book"),
    sql(
        "List the titles of all crime books.",
        "SELECT title FROM book WHERE genre = 'crime'",
    ),
    sql(
        "Which authors were born after 1975?",
        "SELECT name FROM author WHERE born_year > 1975",
    ),
    sql(
        "What is the longest book, by pages? Give its title.",
        "SELECT title FROM book ORDER BY pages DESC LIMIT 1",
    ),
    sql(
        "When did the Harbour Branch open?",
        "SELECT opened_on FROM branch WHERE name = 'Harbour Branch'",
    ),
    sql(
        "How many books are there of each genre?",
        "SELECT genre, count(*) FROM book GROUP BY genre",
    ),
    sql(
        "Show every book title with the name of its author.",
        "SELECT b.title, a.name FROM book AS b JOIN author AS a ON b.author_id = a.author_id",
    ),
    sql(
        "What is the average number of pages of a children's book?",
        "SELECT avg(pages) FROM book WHERE genre = 'children'",
    ),
    sql(
        "Which genres have books of more than 300 pages on average?",
        "SELECT genre FROM book GROUP BY genre HAVING avg(pages) > 300",
    ),
    sql(
        "How many copies does each library branch hold? Show the branch's name.",
        "SELECT br.name, count(*) FROM branch AS br JOIN copy AS c ON br.branch_id = c.branch_id "
        "GROUP BY br.name",
    ),
    sql(
        "Which books have no copy in the library? Show their titles.",
        "SELECT title FROM book WHERE book_id NOT IN (SELECT book_id FROM copy)",
    ),
    sql(
        "Titles of the library books that are in French or in Portuguese.",
        "SELECT title FROM book WHERE language = 'French' OR language = 'Portuguese'",
    ),
    sql(
        "Which loans have not been returned? Show the member's name and the date they were due.",
        "SELECT m.name, l.due_on FROM loan AS l JOIN member AS m ON l.member_id = m.member_id "
        "WHERE l.returned_on IS NULL",
        "loans that are out have no date in returned_on",
    ),
    sql(
        "How many library loans came back late?",
        "SELECT count(*) FROM loan WHERE returned_on > due_on",
        "late refers to returned_on > due_on",
    ),
    sql(
        "Which members borrowed something in the first half of 2022? Give each name once.",
        "SELECT DISTINCT m.name FROM member AS m JOIN loan AS l ON m.member_id = l.member_id "
        "WHERE l.lent_on BETWEEN '2022-01-01' AND '2022-06-30'",
    ),
    sql(
        "Who has borrowed the most? Give the member's name and the number of loans.",
        "SELECT m.name, count(*) FROM member AS m JOIN loan AS l ON m.member_id = l.member_id "
        "GROUP BY m.name ORDER BY count(*) DESC LIMIT 1",
    ),
    sql(
        "Which authors have books both among the novels and among the poetry? Give their ids.",
        "SELECT author_id FROM book WHERE genre = 'novel' "
        "INTERSECT SELECT author_id FROM book WHERE genre = 'poetry'",
    ),
    sql(
        "Which library members have never borrowed anything? Show their ids.",
        "SELECT member_id FROM member EXCEPT SELECT member_id FROM loan",
    ),
    sql(
        "What do unpaid fines add up to for each library member? Show name and amount, the largest "
        "first.",
        "SELECT m.name, sum(f.amount_eur) FROM fine AS f JOIN loan AS l ON f.loan_id = l.loan_id "
        "JOIN member AS m ON l.member_id = m.member_id WHERE f.paid = 0 GROUP BY m.name "
        "ORDER BY sum(f.amount_eur) DESC",
        "unpaid fines have paid = 0",
    ),
    sql(
        "Which titles by Tobias Quill were lent in 2023?",
        "SELECT DISTINCT b.title FROM book AS b JOIN author AS a ON b.author_id = a.author_id "
        "JOIN copy AS c ON c.book_id = b.book_id JOIN loan AS l ON l.copy_id = c.copy_id "
        "WHERE a.name = 'Tobias Quill' AND strftime('%Y', l.lent_on) = '2023'",
        "the year of a loan is that of lent_on",
    ),
    sql(
        "How many days, on average, did returned library loans last?",
        "SELECT avg(julianday(returned_on) - julianday(lent_on)) FROM loan "
        "WHERE returned_on IS NOT NULL",
        "how long a loan lasted is returned_on - lent_on",
    ),
    sql(
        "Name the members who were the youngest and the oldest when they joined, in that order.",
        "SELECT name FROM (SELECT name FROM member "
        "ORDER BY julianday(joined_on) - julianday(birth_date) LIMIT 1) UNION ALL "
        "SELECT name FROM (SELECT name FROM member "
        "ORDER BY julianday(joined_on) - julianday(birth_date) DESC LIMIT 1)",
        "how old a member was when joining is joined_on - birth_date",
    ),
    sql(
        "Which books have more pages than every crime book by Samuel Adeyemi?",
        "SELECT title FROM book WHERE pages > (SELECT max(b.pages) FROM book AS b "
        "JOIN author AS a ON b.author_id = a.author_id "
        "WHERE a.name = 'Samuel Adeyemi' AND b.genre = 'crime')",
    ),
    sql(
        "Show the names of the student members of the library and when they joined.",
        "SELECT name, joined_on FROM member WHERE level = 'student'",
    ),
    sql(
        "In how many different languages are there books?",
        "SELECT count(DISTINCT language) FROM book",
    ),
]
