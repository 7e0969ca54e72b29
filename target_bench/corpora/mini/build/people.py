"""Heads of government, Nobel laureates and Academy Award winners."""

from __future__ import annotations

from .model import Table, lines, table

LEADER_HEADER = "Name|Party|Took office|Left office|Born"
LITERATURE_HEADER = "Year|Laureate|Writing language"
NOBEL_HEADER = "Year|Laureates|Number of laureates"
OSCAR_HEADER = "Film year|Film|Director|Best Director too"

LEADERS: dict[str, tuple[str, str, str]] = {
    "united-states": (
        "List of presidents of the United States",
        "From 1933 to 2017",
        """
Franklin D. Roosevelt|Democratic|1933|1945|1882
Harry S. Truman|Democratic|1945|1953|1884
Dwight D. Eisenhower|Republican|1953|1961|1890
John F. Kennedy|Democratic|1961|1963|1917
Lyndon B. Johnson|Democratic|1963|1969|1908
Richard Nixon|Republican|1969|1974|1913
Gerald Ford|Republican|1974|1977|1913
Jimmy Carter|Democratic|1977|1981|1924
Ronald Reagan|Republican|1981|1989|1911
George H. W. Bush|Republican|1989|1993|1924
Bill Clinton|Democratic|1993|2001|1946
George W. Bush|Republican|2001|2009|1946
Barack Obama|Democratic|2009|2017|1961
""",
    ),
    "united-kingdom": (
        "List of prime ministers of the United Kingdom",
        "From 1945 to 2016",
        """
Clement Attlee|Labour|1945|1951|1883
Winston Churchill|Conservative|1951|1955|1874
Anthony Eden|Conservative|1955|1957|1897
Harold Macmillan|Conservative|1957|1963|1894
Alec Douglas-Home|Conservative|1963|1964|1903
Harold Wilson|Labour|1964|1970|1916
Edward Heath|Conservative|1970|1974|1916
Harold Wilson|Labour|1974|1976|1916
James Callaghan|Labour|1976|1979|1912
Margaret Thatcher|Conservative|1979|1990|1925
John Major|Conservative|1990|1997|1943
Tony Blair|Labour|1997|2007|1953
Gordon Brown|Labour|2007|2010|1951
David Cameron|Conservative|2010|2016|1966
""",
    ),
    "germany": (
        "List of chancellors of Germany",
        "Federal Republic, 1949 to 2025",
        """
Konrad Adenauer|CDU|1949|1963|1876
Ludwig Erhard|CDU|1963|1966|1897
Kurt Georg Kiesinger|CDU|1966|1969|1904
Willy Brandt|SPD|1969|1974|1913
Helmut Schmidt|SPD|1974|1982|1918
Helmut Kohl|CDU|1982|1998|1930
Gerhard Schröder|SPD|1998|2005|1944
Angela Merkel|CDU|2005|2021|1954
Olaf Scholz|SPD|2021|2025|1958
""",
    ),
    "canada": (
        "List of prime ministers of Canada",
        "From 1948 to 2025",
        """
Louis St. Laurent|Liberal|1948|1957|1882
John Diefenbaker|Progressive Conservative|1957|1963|1895
Lester B. Pearson|Liberal|1963|1968|1897
Pierre Trudeau|Liberal|1968|1979|1919
Joe Clark|Progressive Conservative|1979|1980|1939
Pierre Trudeau|Liberal|1980|1984|1919
John Turner|Liberal|1984|1984|1929
Brian Mulroney|Progressive Conservative|1984|1993|1939
Kim Campbell|Progressive Conservative|1993|1993|1947
Jean Chrétien|Liberal|1993|2003|1934
Paul Martin|Liberal|2003|2006|1938
Stephen Harper|Conservative|2006|2015|1959
Justin Trudeau|Liberal|2015|2025|1971
""",
    ),
    "australia": (
        "List of prime ministers of Australia",
        "From 1949 to 2015",
        """
Robert Menzies|Liberal|1949|1966|1894
Harold Holt|Liberal|1966|1967|1908
John McEwen|Country|1967|1968|1900
John Gorton|Liberal|1968|1971|1911
William McMahon|Liberal|1971|1972|1908
Gough Whitlam|Labor|1972|1975|1916
Malcolm Fraser|Liberal|1975|1983|1930
Bob Hawke|Labor|1983|1991|1929
Paul Keating|Labor|1991|1996|1944
John Howard|Liberal|1996|2007|1939
Kevin Rudd|Labor|2007|2010|1957
Julia Gillard|Labor|2010|2013|1961
Kevin Rudd|Labor|2013|2013|1957
Tony Abbott|Liberal|2013|2015|1957
""",
    ),
    "new-zealand": (
        "List of prime ministers of New Zealand",
        "From 1960 to 2023",
        """
Keith Holyoake|National|1960|1972|1904
Jack Marshall|National|1972|1972|1912
Norman Kirk|Labour|1972|1974|1923
Bill Rowling|Labour|1974|1975|1927
Robert Muldoon|National|1975|1984|1921
David Lange|Labour|1984|1989|1942
Geoffrey Palmer|Labour|1989|1990|1942
Mike Moore|Labour|1990|1990|1949
Jim Bolger|National|1990|1997|1935
Jenny Shipley|National|1997|1999|1952
Helen Clark|Labour|1999|2008|1950
John Key|National|2008|2016|1961
Bill English|National|2016|2017|1961
Jacinda Ardern|Labour|2017|2023|1980
""",
    ),
}

LITERATURE: dict[int, str] = {
    1970: """
Aleksandr Solzhenitsyn|Russian
Pablo Neruda|Spanish
Heinrich Böll|German
Patrick White|English
Eyvind Johnson and Harry Martinson|Swedish
Eugenio Montale|Italian
Saul Bellow|English
Vicente Aleixandre|Spanish
Isaac Bashevis Singer|Yiddish
Odysseas Elytis|Greek
""",
    1980: """
Czesław Miłosz|Polish
Elias Canetti|German
Gabriel García Márquez|Spanish
William Golding|English
Jaroslav Seifert|Czech
Claude Simon|French
Wole Soyinka|English
Joseph Brodsky|Russian and English
Naguib Mahfouz|Arabic
Camilo José Cela|Spanish
""",
    1990: """
Octavio Paz|Spanish
Nadine Gordimer|English
Derek Walcott|English
Toni Morrison|English
Kenzaburō Ōe|Japanese
Seamus Heaney|English
Wisława Szymborska|Polish
Dario Fo|Italian
José Saramago|Portuguese
Günter Grass|German
""",
    2000: """
Gao Xingjian|Chinese
V. S. Naipaul|English
Imre Kertész|Hungarian
J. M. Coetzee|English
Elfriede Jelinek|German
Harold Pinter|English
Orhan Pamuk|Turkish
Doris Lessing|English
J. M. G. Le Clézio|French
Herta Müller|German
""",
    2010: """
Mario Vargas Llosa|Spanish
Tomas Tranströmer|Swedish
Mo Yan|Chinese
Alice Munro|English
Patrick Modiano|French
Svetlana Alexievich|Russian
Bob Dylan|English
Kazuo Ishiguro|English
Olga Tokarczuk|Polish
Peter Handke|German
""",
}

NOBEL: dict[tuple[str, int], str] = {
    ("Physics", 2000): """
Zhores Alferov, Herbert Kroemer, Jack Kilby
Eric Cornell, Wolfgang Ketterle, Carl Wieman
Raymond Davis, Masatoshi Koshiba, Riccardo Giacconi
Alexei Abrikosov, Vitaly Ginzburg, Anthony Leggett
David Gross, David Politzer, Frank Wilczek
Roy Glauber, John Hall, Theodor Hänsch
John Mather, George Smoot
Albert Fert, Peter Grünberg
Yoichiro Nambu, Makoto Kobayashi, Toshihide Maskawa
Charles Kao, Willard Boyle, George Smith
""",
    ("Physics", 2010): """
Andre Geim, Konstantin Novoselov
Saul Perlmutter, Brian Schmidt, Adam Riess
Serge Haroche, David Wineland
François Englert, Peter Higgs
Isamu Akasaki, Hiroshi Amano, Shuji Nakamura
Takaaki Kajita, Arthur McDonald
David Thouless, Duncan Haldane, Michael Kosterlitz
Rainer Weiss, Barry Barish, Kip Thorne
Arthur Ashkin, Gérard Mourou, Donna Strickland
James Peebles, Michel Mayor, Didier Queloz
""",
    ("Chemistry", 2010): """
Richard Heck, Ei-ichi Negishi, Akira Suzuki
Dan Shechtman
Robert Lefkowitz, Brian Kobilka
Martin Karplus, Michael Levitt, Arieh Warshel
Eric Betzig, Stefan Hell, William Moerner
Tomas Lindahl, Paul Modrich, Aziz Sancar
Jean-Pierre Sauvage, Fraser Stoddart, Ben Feringa
Jacques Dubochet, Joachim Frank, Richard Henderson
Frances Arnold, George Smith, Gregory Winter
John Goodenough, Stanley Whittingham, Akira Yoshino
""",
    ("Physiology or Medicine", 2010): """
Robert Edwards
Bruce Beutler, Jules Hoffmann, Ralph Steinman
John Gurdon, Shinya Yamanaka
James Rothman, Randy Schekman, Thomas Südhof
John O'Keefe, May-Britt Moser, Edvard Moser
William Campbell, Satoshi Ōmura, Tu Youyou
Yoshinori Ohsumi
Jeffrey Hall, Michael Rosbash, Michael Young
James Allison, Tasuku Honjo
William Kaelin, Peter Ratcliffe, Gregg Semenza
""",
    ("Peace", 1990): """
Mikhail Gorbachev
Aung San Suu Kyi
Rigoberta Menchú
Nelson Mandela, F. W. de Klerk
Yasser Arafat, Shimon Peres, Yitzhak Rabin
Joseph Rotblat, Pugwash Conferences
Carlos Filipe Ximenes Belo, José Ramos-Horta
International Campaign to Ban Landmines, Jody Williams
John Hume, David Trimble
Médecins Sans Frontières
""",
    ("Peace", 2000): """
Kim Dae-jung
United Nations, Kofi Annan
Jimmy Carter
Shirin Ebadi
Wangari Maathai
International Atomic Energy Agency, Mohamed ElBaradei
Muhammad Yunus, Grameen Bank
Intergovernmental Panel on Climate Change, Al Gore
Martti Ahtisaari
Barack Obama
""",
    ("Peace", 2010): """
Liu Xiaobo
Ellen Johnson Sirleaf, Leymah Gbowee, Tawakkol Karman
European Union
Organisation for the Prohibition of Chemical Weapons
Kailash Satyarthi, Malala Yousafzai
Tunisian National Dialogue Quartet
Juan Manuel Santos
International Campaign to Abolish Nuclear Weapons
Denis Mukwege, Nadia Murad
Abiy Ahmed
""",
}

OSCARS: dict[int, str] = {
    1960: """
The Apartment|Billy Wilder|Yes
West Side Story|Robert Wise and Jerome Robbins|Yes
Lawrence of Arabia|David Lean|Yes
Tom Jones|Tony Richardson|Yes
My Fair Lady|George Cukor|Yes
The Sound of Music|Robert Wise|Yes
A Man for All Seasons|Fred Zinnemann|Yes
In the Heat of the Night|Norman Jewison|No
Oliver!|Carol Reed|Yes
Midnight Cowboy|John Schlesinger|Yes
""",
    1970: """
Patton|Franklin J. Schaffner|Yes
The French Connection|William Friedkin|Yes
The Godfather|Francis Ford Coppola|No
The Sting|George Roy Hill|Yes
The Godfather Part II|Francis Ford Coppola|Yes
One Flew Over the Cuckoo's Nest|Miloš Forman|Yes
Rocky|John G. Avildsen|Yes
Annie Hall|Woody Allen|Yes
The Deer Hunter|Michael Cimino|Yes
Kramer vs. Kramer|Robert Benton|Yes
""",
    1980: """
Ordinary People|Robert Redford|Yes
Chariots of Fire|Hugh Hudson|No
Gandhi|Richard Attenborough|Yes
Terms of Endearment|James L. Brooks|Yes
Amadeus|Miloš Forman|Yes
Out of Africa|Sydney Pollack|Yes
Platoon|Oliver Stone|Yes
The Last Emperor|Bernardo Bertolucci|Yes
Rain Man|Barry Levinson|Yes
Driving Miss Daisy|Bruce Beresford|No
""",
    1990: """
Dances with Wolves|Kevin Costner|Yes
The Silence of the Lambs|Jonathan Demme|Yes
Unforgiven|Clint Eastwood|Yes
Schindler's List|Steven Spielberg|Yes
Forrest Gump|Robert Zemeckis|Yes
Braveheart|Mel Gibson|Yes
The English Patient|Anthony Minghella|Yes
Titanic|James Cameron|Yes
Shakespeare in Love|John Madden|No
American Beauty|Sam Mendes|Yes
""",
    2000: """
Gladiator|Ridley Scott|No
A Beautiful Mind|Ron Howard|Yes
Chicago|Rob Marshall|No
The Lord of the Rings: The Return of the King|Peter Jackson|Yes
Million Dollar Baby|Clint Eastwood|Yes
Crash|Paul Haggis|No
The Departed|Martin Scorsese|Yes
No Country for Old Men|Joel Coen and Ethan Coen|Yes
Slumdog Millionaire|Danny Boyle|Yes
The Hurt Locker|Kathryn Bigelow|Yes
""",
    2010: """
The King's Speech|Tom Hooper|Yes
The Artist|Michel Hazanavicius|Yes
Argo|Ben Affleck|No
12 Years a Slave|Steve McQueen|No
Birdman|Alejandro González Iñárritu|Yes
Spotlight|Tom McCarthy|No
Moonlight|Barry Jenkins|No
The Shape of Water|Guillermo del Toro|Yes
Green Book|Peter Farrelly|No
Parasite|Bong Joon-ho|Yes
""",
}


def _dated(first: int, rows: list[list[str]]) -> list[list[str]]:
    """Rows with consecutive years put before them."""
    return [[str(first + offset), *row] for offset, row in enumerate(rows)]


def _leaders() -> list[Table]:
    return [
        table(f"leaders-of-{slug}", title, section, LEADER_HEADER, lines(body))
        for slug, (title, section, body) in LEADERS.items()
    ]


def _nobel() -> list[Table]:
    made = []
    for year, body in LITERATURE.items():
        rows = _dated(year, lines(body))
        title, section = "List of Nobel laureates in Literature", f"The {year}s"
        made.append(table(f"nobel-literature-{year}s", title, section, LITERATURE_HEADER, rows))
    for (field, year), body in NOBEL.items():
        names = [cells[0] for cells in lines(body)]
        rows = _dated(year, [[name, str(name.count(",") + 1)] for name in names])
        slug = field.lower().split()[-1]
        title = f"List of Nobel {'Peace Prize ' if field == 'Peace' else ''}laureates"
        title += "" if field == "Peace" else f" in {field}"
        made.append(table(f"nobel-{slug}-{year}s", title, f"The {year}s", NOBEL_HEADER, rows))
    return made


def _oscars() -> list[Table]:
    made = []
    for year, body in OSCARS.items():
        section = f"Winners of the {year}s"
        rows = _dated(year, lines(body))
        title = "Academy Award for Best Picture"
        made.append(table(f"best-picture-{year}s", title, section, OSCAR_HEADER, rows))
    return made


def tables() -> list[Table]:
    """All the tables of people and prizes."""
    return [*_leaders(), *_nobel(), *_oscars()]
