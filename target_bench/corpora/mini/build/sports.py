"""Champions: Formula One drivers, tennis Grand Slams and Super Bowls."""

from __future__ import annotations

from .model import Table, lines, table

F1_HEADER = "Season|Champion|Country|Constructor"
TENNIS_HEADER = "Year|Champion|Champion's country|Runner-up"
BOWL_HEADER = "Game|Year played|Winner|Winner's points|Loser|Loser's points"

FORMULA_ONE: dict[int, str] = {
    1950: """
Giuseppe Farina|Italy|Alfa Romeo
Juan Manuel Fangio|Argentina|Alfa Romeo
Alberto Ascari|Italy|Ferrari
Alberto Ascari|Italy|Ferrari
Juan Manuel Fangio|Argentina|Maserati and Mercedes
Juan Manuel Fangio|Argentina|Mercedes
Juan Manuel Fangio|Argentina|Ferrari
Juan Manuel Fangio|Argentina|Maserati
Mike Hawthorn|United Kingdom|Ferrari
Jack Brabham|Australia|Cooper
""",
    1960: """
Jack Brabham|Australia|Cooper
Phil Hill|United States|Ferrari
Graham Hill|United Kingdom|BRM
Jim Clark|United Kingdom|Lotus
John Surtees|United Kingdom|Ferrari
Jim Clark|United Kingdom|Lotus
Jack Brabham|Australia|Brabham
Denny Hulme|New Zealand|Brabham
Graham Hill|United Kingdom|Lotus
Jackie Stewart|United Kingdom|Matra
""",
    1970: """
Jochen Rindt|Austria|Lotus
Jackie Stewart|United Kingdom|Tyrrell
Emerson Fittipaldi|Brazil|Lotus
Jackie Stewart|United Kingdom|Tyrrell
Emerson Fittipaldi|Brazil|McLaren
Niki Lauda|Austria|Ferrari
James Hunt|United Kingdom|McLaren
Niki Lauda|Austria|Ferrari
Mario Andretti|United States|Lotus
Jody Scheckter|South Africa|Ferrari
""",
    1980: """
Alan Jones|Australia|Williams
Nelson Piquet|Brazil|Brabham
Keke Rosberg|Finland|Williams
Nelson Piquet|Brazil|Brabham
Niki Lauda|Austria|McLaren
Alain Prost|France|McLaren
Alain Prost|France|McLaren
Nelson Piquet|Brazil|Williams
Ayrton Senna|Brazil|McLaren
Alain Prost|France|McLaren
""",
    1990: """
Ayrton Senna|Brazil|McLaren
Ayrton Senna|Brazil|McLaren
Nigel Mansell|United Kingdom|Williams
Alain Prost|France|Williams
Michael Schumacher|Germany|Benetton
Michael Schumacher|Germany|Benetton
Damon Hill|United Kingdom|Williams
Jacques Villeneuve|Canada|Williams
Mika Häkkinen|Finland|McLaren
Mika Häkkinen|Finland|McLaren
""",
    2000: """
Michael Schumacher|Germany|Ferrari
Michael Schumacher|Germany|Ferrari
Michael Schumacher|Germany|Ferrari
Michael Schumacher|Germany|Ferrari
Michael Schumacher|Germany|Ferrari
Fernando Alonso|Spain|Renault
Fernando Alonso|Spain|Renault
Kimi Räikkönen|Finland|Ferrari
Lewis Hamilton|United Kingdom|McLaren
Jenson Button|United Kingdom|Brawn
""",
    2010: """
Sebastian Vettel|Germany|Red Bull
Sebastian Vettel|Germany|Red Bull
Sebastian Vettel|Germany|Red Bull
Sebastian Vettel|Germany|Red Bull
Lewis Hamilton|United Kingdom|Mercedes
Lewis Hamilton|United Kingdom|Mercedes
Nico Rosberg|Germany|Mercedes
Lewis Hamilton|United Kingdom|Mercedes
Lewis Hamilton|United Kingdom|Mercedes
Lewis Hamilton|United Kingdom|Mercedes
""",
}

TENNIS: dict[tuple[str, str], str] = {
    ("Wimbledon", "Men"): """
Pete Sampras|United States|Pat Rafter
Goran Ivanišević|Croatia|Pat Rafter
Lleyton Hewitt|Australia|David Nalbandian
Roger Federer|Switzerland|Mark Philippoussis
Roger Federer|Switzerland|Andy Roddick
Roger Federer|Switzerland|Andy Roddick
Roger Federer|Switzerland|Rafael Nadal
Roger Federer|Switzerland|Rafael Nadal
Rafael Nadal|Spain|Roger Federer
Roger Federer|Switzerland|Andy Roddick
""",
    ("French Open", "Men"): """
Gustavo Kuerten|Brazil|Magnus Norman
Gustavo Kuerten|Brazil|Àlex Corretja
Albert Costa|Spain|Juan Carlos Ferrero
Juan Carlos Ferrero|Spain|Martin Verkerk
Gastón Gaudio|Argentina|Guillermo Coria
Rafael Nadal|Spain|Mariano Puerta
Rafael Nadal|Spain|Roger Federer
Rafael Nadal|Spain|Roger Federer
Rafael Nadal|Spain|Roger Federer
Roger Federer|Switzerland|Robin Söderling
""",
    ("US Open", "Men"): """
Marat Safin|Russia|Pete Sampras
Lleyton Hewitt|Australia|Pete Sampras
Pete Sampras|United States|Andre Agassi
Andy Roddick|United States|Juan Carlos Ferrero
Roger Federer|Switzerland|Lleyton Hewitt
Roger Federer|Switzerland|Andre Agassi
Roger Federer|Switzerland|Andy Roddick
Roger Federer|Switzerland|Novak Djokovic
Roger Federer|Switzerland|Andy Murray
Juan Martín del Potro|Argentina|Roger Federer
""",
    ("Australian Open", "Men"): """
Andre Agassi|United States|Yevgeny Kafelnikov
Andre Agassi|United States|Arnaud Clément
Thomas Johansson|Sweden|Marat Safin
Andre Agassi|United States|Rainer Schüttler
Roger Federer|Switzerland|Marat Safin
Marat Safin|Russia|Lleyton Hewitt
Roger Federer|Switzerland|Marcos Baghdatis
Roger Federer|Switzerland|Fernando González
Novak Djokovic|Serbia|Jo-Wilfried Tsonga
Rafael Nadal|Spain|Roger Federer
""",
    ("Wimbledon", "Women"): """
Venus Williams|United States|Lindsay Davenport
Venus Williams|United States|Justine Henin
Serena Williams|United States|Venus Williams
Serena Williams|United States|Venus Williams
Maria Sharapova|Russia|Serena Williams
Venus Williams|United States|Lindsay Davenport
Amélie Mauresmo|France|Justine Henin
Venus Williams|United States|Marion Bartoli
Venus Williams|United States|Serena Williams
Serena Williams|United States|Venus Williams
""",
    ("French Open", "Women"): """
Mary Pierce|France|Conchita Martínez
Jennifer Capriati|United States|Kim Clijsters
Serena Williams|United States|Venus Williams
Justine Henin|Belgium|Kim Clijsters
Anastasia Myskina|Russia|Elena Dementieva
Justine Henin|Belgium|Mary Pierce
Justine Henin|Belgium|Svetlana Kuznetsova
Justine Henin|Belgium|Ana Ivanovic
Ana Ivanovic|Serbia|Dinara Safina
Svetlana Kuznetsova|Russia|Dinara Safina
""",
    ("US Open", "Women"): """
Venus Williams|United States|Lindsay Davenport
Venus Williams|United States|Serena Williams
Serena Williams|United States|Venus Williams
Justine Henin|Belgium|Kim Clijsters
Svetlana Kuznetsova|Russia|Elena Dementieva
Kim Clijsters|Belgium|Mary Pierce
Maria Sharapova|Russia|Justine Henin
Justine Henin|Belgium|Svetlana Kuznetsova
Serena Williams|United States|Jelena Janković
Kim Clijsters|Belgium|Caroline Wozniacki
""",
    ("Australian Open", "Women"): """
Lindsay Davenport|United States|Martina Hingis
Jennifer Capriati|United States|Martina Hingis
Jennifer Capriati|United States|Martina Hingis
Serena Williams|United States|Venus Williams
Justine Henin|Belgium|Kim Clijsters
Serena Williams|United States|Lindsay Davenport
Amélie Mauresmo|France|Justine Henin
Serena Williams|United States|Maria Sharapova
Maria Sharapova|Russia|Ana Ivanovic
Serena Williams|United States|Dinara Safina
""",
}

SUPER_BOWLS: dict[int, tuple[str, str]] = {
    1967: (
        "I II III IV V VI VII VIII IX X",
        """
Green Bay Packers|35|Kansas City Chiefs|10
Green Bay Packers|33|Oakland Raiders|14
New York Jets|16|Baltimore Colts|7
Kansas City Chiefs|23|Minnesota Vikings|7
Baltimore Colts|16|Dallas Cowboys|13
Dallas Cowboys|24|Miami Dolphins|3
Miami Dolphins|14|Washington Redskins|7
Miami Dolphins|24|Minnesota Vikings|7
Pittsburgh Steelers|16|Minnesota Vikings|6
Pittsburgh Steelers|21|Dallas Cowboys|17
""",
    ),
    1977: (
        "XI XII XIII XIV XV XVI XVII XVIII XIX XX",
        """
Oakland Raiders|32|Minnesota Vikings|14
Dallas Cowboys|27|Denver Broncos|10
Pittsburgh Steelers|35|Dallas Cowboys|31
Pittsburgh Steelers|31|Los Angeles Rams|19
Oakland Raiders|27|Philadelphia Eagles|10
San Francisco 49ers|26|Cincinnati Bengals|21
Washington Redskins|27|Miami Dolphins|17
Los Angeles Raiders|38|Washington Redskins|9
San Francisco 49ers|38|Miami Dolphins|16
Chicago Bears|46|New England Patriots|10
""",
    ),
    1987: (
        "XXI XXII XXIII XXIV XXV XXVI XXVII XXVIII XXIX XXX",
        """
New York Giants|39|Denver Broncos|20
Washington Redskins|42|Denver Broncos|10
San Francisco 49ers|20|Cincinnati Bengals|16
San Francisco 49ers|55|Denver Broncos|10
New York Giants|20|Buffalo Bills|19
Washington Redskins|37|Buffalo Bills|24
Dallas Cowboys|52|Buffalo Bills|17
Dallas Cowboys|30|Buffalo Bills|13
San Francisco 49ers|49|San Diego Chargers|26
Dallas Cowboys|27|Pittsburgh Steelers|17
""",
    ),
    1997: (
        "XXXI XXXII XXXIII XXXIV XXXV XXXVI XXXVII XXXVIII XXXIX XL",
        """
Green Bay Packers|35|New England Patriots|21
Denver Broncos|31|Green Bay Packers|24
Denver Broncos|34|Atlanta Falcons|19
St. Louis Rams|23|Tennessee Titans|16
Baltimore Ravens|34|New York Giants|7
New England Patriots|20|St. Louis Rams|17
Tampa Bay Buccaneers|48|Oakland Raiders|21
New England Patriots|32|Carolina Panthers|29
New England Patriots|24|Philadelphia Eagles|21
Pittsburgh Steelers|21|Seattle Seahawks|10
""",
    ),
    2007: (
        "XLI XLII XLIII XLIV XLV XLVI XLVII XLVIII XLIX 50",
        """
Indianapolis Colts|29|Chicago Bears|17
New York Giants|17|New England Patriots|14
Pittsburgh Steelers|27|Arizona Cardinals|23
New Orleans Saints|31|Indianapolis Colts|17
Green Bay Packers|31|Pittsburgh Steelers|25
New York Giants|21|New England Patriots|17
Baltimore Ravens|34|San Francisco 49ers|31
Seattle Seahawks|43|Denver Broncos|8
New England Patriots|28|Seattle Seahawks|24
Denver Broncos|24|Carolina Panthers|10
""",
    ),
}


def _dated(first: int, body: str) -> list[list[str]]:
    """Rows with consecutive years put before them."""
    return [[str(first + offset), *row] for offset, row in enumerate(lines(body))]


def _formula_one() -> list[Table]:
    title = "List of Formula One World Drivers' Champions"
    return [
        table(f"formula-one-{year}s", title, f"The {year}s", F1_HEADER, _dated(year, body))
        for year, body in FORMULA_ONE.items()
    ]


def _tennis() -> list[Table]:
    made = []
    for (event, who), body in TENNIS.items():
        slug = event.lower().replace(" ", "-")
        title = f"List of {event} {who.lower()}'s singles champions"
        rows = _dated(2000, body)
        table_id = f"{slug}-{who.lower()}-2000s"
        made.append(table(table_id, title, "Finals from 2000 to 2009", TENNIS_HEADER, rows))
    return made


def _super_bowls() -> list[Table]:
    made = []
    for year, (numerals, body) in SUPER_BOWLS.items():
        games = numerals.split()
        rows = [[g, *row] for g, row in zip(games, _dated(year, body), strict=True)]
        section = f"Super Bowl {games[0]} to Super Bowl {games[-1]}"
        table_id = f"super-bowls-{year}-{year + 9}"
        made.append(table(table_id, "List of Super Bowl champions", section, BOWL_HEADER, rows))
    return made


def tables() -> list[Table]:
    """All the tables of champions."""
    return [*_formula_one(), *_tennis(), *_super_bowls()]
