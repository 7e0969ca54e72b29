CREATE TABLE branch (
  branch_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  district TEXT NOT NULL,
  opened_on TEXT NOT NULL
);
INSERT INTO branch VALUES
  (1, 'Central Library', 'Old Town', '1906-05-12'),
  (2, 'Harbour Branch', 'Docks', '1988-09-01'),
  (3, 'Hillside Branch', 'Northgate', '1974-03-20'),
  (4, 'Book Bus', 'Suburbs', '2017-04-02');
CREATE TABLE author (
  author_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  born_year INTEGER,
  country TEXT
);
INSERT INTO author VALUES
  (1, 'Maren Holt', 1951, 'Norway'),
  (2, 'Tobias Quill', 1978, 'Ireland'),
  (3, 'Ines Caldeira', 1964, 'Portugal'),
  (4, 'Samuel Adeyemi', 1982, 'Nigeria'),
  (5, 'Yuki Tanabe', 1990, 'Japan'),
  (6, 'Clara Whitlock', 1939, 'United Kingdom'),
  (7, 'A. N. Onym', NULL, NULL);
CREATE TABLE book (
  book_id INTEGER PRIMARY KEY,
  title TEXT NOT NULL,
  author_id INTEGER NOT NULL REFERENCES author (author_id),
  genre TEXT NOT NULL,
  published_year INTEGER NOT NULL,
  pages INTEGER NOT NULL,
  language TEXT NOT NULL
);
INSERT INTO book VALUES
  (1, 'The Salt Road', 1, 'novel', 1984, 312, 'English'),
  (2, 'Winter Harbour', 1, 'novel', 1992, 280, 'English'),
  (3, 'Ink and Iron', 2, 'crime', 2011, 398, 'English'),
  (4, 'The Quiet Witness', 2, 'crime', 2015, 421, 'English'),
  (5, 'A Casa do Vento', 3, 'novel', 2001, 256, 'Portuguese'),
  (6, 'Maps of Rain', 3, 'poetry', 2008, 96, 'English'),
  (7, 'Lagos Nights', 4, 'crime', 2019, 344, 'English'),
  (8, 'Paper Cranes', 5, 'children', 2020, 48, 'English'),
  (9, 'The Moon Rabbit', 5, 'children', 2022, 40, 'English'),
  (10, 'Gardens of the North', 6, 'nature', 1971, 220, 'English'),
  (11, 'Birds at Dusk', 6, 'nature', 1979, 188, 'English'),
  (12, 'Untitled Letters', 7, 'poetry', 1968, 72, 'French');
CREATE TABLE copy (
  copy_id INTEGER PRIMARY KEY,
  book_id INTEGER NOT NULL REFERENCES book (book_id),
  branch_id INTEGER NOT NULL REFERENCES branch (branch_id),
  acquired_on TEXT NOT NULL,
  condition TEXT NOT NULL
);
INSERT INTO copy VALUES
  (1, 1, 1, '1995-02-10', 'worn'), (2, 1, 2, '2003-06-18', 'good'),
  (3, 2, 1, '1996-11-05', 'good'), (4, 3, 1, '2012-01-15', 'good'),
  (5, 3, 3, '2012-01-15', 'worn'), (6, 4, 1, '2016-03-03', 'good'),
  (7, 5, 2, '2002-08-21', 'good'), (8, 6, 1, '2009-05-30', 'good'),
  (9, 7, 1, '2019-10-10', 'new'), (10, 7, 4, '2020-02-02', 'good'),
  (11, 8, 3, '2020-12-01', 'worn'), (12, 8, 4, '2020-12-01', 'good'),
  (13, 9, 4, '2022-09-09', 'new'), (14, 10, 1, '1982-07-07', 'worn'),
  (15, 11, 3, '1990-04-14', 'good'), (16, 7, 2, '2021-05-05', 'good');
CREATE TABLE member (
  member_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  birth_date TEXT NOT NULL,
  joined_on TEXT NOT NULL,
  branch_id INTEGER NOT NULL REFERENCES branch (branch_id),
  level TEXT NOT NULL
);
INSERT INTO member VALUES
  (1, 'Oona Byrne', '1957-02-11', '1990-01-09', 1, 'adult'),
  (2, 'Pavel Dvorak', '1984-07-23', '2012-05-17', 1, 'adult'),
  (3, 'Quentin Hale', '2003-12-02', '2021-10-04', 2, 'student'),
  (4, 'Rosa Ibarra', '2014-04-28', '2021-06-12', 4, 'child'),
  (5, 'Stefan Ibarra', '1980-01-15', '2021-06-12', 4, 'adult'),
  (6, 'Tara Singh', '1999-09-30', '2018-09-15', 3, 'student'),
  (7, 'Umar Diallo', '2012-08-08', '2020-02-29', 3, 'child'),
  (8, 'Vera Lind', '1941-11-19', '1974-03-20', 3, 'adult'),
  (9, 'Will Yates', '1995-05-25', '2023-01-02', 2, 'adult'),
  (10, 'Xenia Popov', '1972-03-03', '2023-12-20', 1, 'adult');
CREATE TABLE loan (
  loan_id INTEGER PRIMARY KEY,
  copy_id INTEGER NOT NULL REFERENCES copy (copy_id),
  member_id INTEGER NOT NULL REFERENCES member (member_id),
  lent_on TEXT NOT NULL,
  due_on TEXT NOT NULL,
  returned_on TEXT
);
INSERT INTO loan VALUES
  (1, 1, 1, '2022-01-10', '2022-02-07', '2022-02-01'),
  (2, 4, 2, '2022-02-14', '2022-03-14', '2022-04-02'),
  (3, 11, 7, '2022-03-05', '2022-04-02', '2022-03-30'),
  (4, 12, 4, '2022-06-20', '2022-07-18', '2022-07-18'),
  (5, 6, 2, '2022-09-01', '2022-09-29', '2022-09-20'),
  (6, 9, 3, '2022-10-10', '2022-11-07', '2022-12-01'),
  (7, 13, 4, '2022-12-12', '2023-01-09', '2023-01-20'),
  (8, 15, 8, '2023-01-17', '2023-02-14', '2023-02-10'),
  (9, 5, 6, '2023-02-20', '2023-03-20', '2023-03-19'),
  (10, 10, 5, '2023-03-02', '2023-03-30', '2023-05-01'),
  (11, 3, 1, '2023-04-11', '2023-05-09', '2023-05-02'),
  (12, 9, 2, '2023-05-22', '2023-06-19', '2023-06-10'),
  (13, 14, 1, '2023-06-30', '2023-07-28', NULL),
  (14, 16, 9, '2023-07-14', '2023-08-11', '2023-08-11'),
  (15, 8, 6, '2023-09-04', '2023-10-02', NULL),
  (16, 12, 7, '2023-10-16', '2023-11-13', '2023-11-01'),
  (17, 6, 3, '2023-11-20', '2023-12-18', NULL),
  (18, 4, 1, '2023-12-05', '2024-01-02', '2023-12-29');
CREATE TABLE fine (
  fine_id INTEGER PRIMARY KEY,
  loan_id INTEGER NOT NULL REFERENCES loan (loan_id),
  amount_eur REAL NOT NULL,
  paid INTEGER NOT NULL
);
INSERT INTO fine VALUES
  (1, 2, 3.8, 1), (2, 6, 4.8, 0), (3, 7, 1.1, 1), (4, 10, 6.4, 0), (5, 13, 12.5, 0);
