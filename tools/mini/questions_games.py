"""Questions on Olympic medal tables and football tournaments."""

from __future__ import annotations

from .lookups import at, gap, holding, larger, least, most, over, plus, qa, tally

QUESTIONS = [
    qa(
        "At the Games held in Barcelona, how many golds did the host nation take?",
        "olympics-1992-medals",
        at("Spain", "Gold"),
    ),
    qa(
        "How many silver medals did the Unified Team bring home from Albertville?",
        "winter-olympics-1992-medals",
        at("Unified Team", "Silver"),
    ),
    qa(
        "In Munich in 1972, which team was ranked straight after the Soviet Union?",
        "olympics-1972-medals",
        at("Rank=2", "Nation"),
        "USA",
    ),
    qa(
        "What was Cuba's overall medal count at the Montreal Olympics?",
        "olympics-1976-medals",
        at("Cuba", "Total"),
    ),
    qa(
        "Of the ten best nations at Montreal 1976, who collected the most bronze?",
        "olympics-1976-medals",
        most("Nation", "Bronze"),
        "USSR",
    ),
    qa(
        "Moscow 1980: how many nations reached double figures in gold?",
        "olympics-1980-medals",
        over("Gold", 9),
    ),
    qa(
        "By how many golds did the USSR finish ahead of East Germany in Seoul?",
        "olympics-1988-medals",
        gap(at("Soviet Union", "Gold"), at("East Germany", "Gold")),
    ),
    qa(
        "How many third places did Australia earn at the Atlanta Games?",
        "olympics-1996-medals",
        at("Australia", "Bronze"),
    ),
    qa(
        "Which country surprised everyone by coming second overall at Rio 2016?",
        "olympics-2016-medals",
        at("Rank=2", "Nation"),
        "United Kingdom",
    ),
    qa(
        "At the 2024 Games two nations shared the most gold medals; how many did each have?",
        "olympics-2024-medals",
        at("China", "Gold"),
    ),
    qa(
        "How many medals of any colour did the French collect on home soil in 2024?",
        "olympics-2024-medals",
        at("France", "Total"),
    ),
    qa(
        "Among the leading ten of Paris 2024, which team had the fewest second places?",
        "olympics-2024-medals",
        least("Nation", "Silver"),
    ),
    qa(
        "Who topped the standings at the Winter Games in Sarajevo?",
        "winter-olympics-1984-medals",
        at("Rank=1", "Nation"),
        "GDR",
    ),
    qa(
        "How many events were won by Finland in Calgary in 1988?",
        "winter-olympics-1988-medals",
        at("Finland", "Gold"),
    ),
    qa(
        "As hosts in Lillehammer, how many silvers did the Norwegians win?",
        "winter-olympics-1994-medals",
        at("Norway", "Silver"),
    ),
    qa(
        "With how many medals altogether did the home team finish at Nagano?",
        "winter-olympics-1998-medals",
        at("Japan", "Total"),
    ),
    qa(
        "PyeongChang: how many of the first ten nations finished on exactly five golds?",
        "winter-olympics-2018-medals",
        tally("Gold", "5"),
    ),
    qa(
        "In which year, 1988 or 1992, did Hungary take more silver medals at the Summer Olympics?",
        ["olympics-1988-medals", "olympics-1992-medals"],
        larger(at("Hungary", "Silver"), at("Hungary", "Silver", table=1), ("1988", "1992")),
    ),
    qa(
        "How many more golds did the United States win in Rio de Janeiro than twenty "
        "years earlier in Atlanta?",
        ["olympics-1996-medals", "olympics-2016-medals"],
        gap(at("United States", "Gold", table=1), at("United States", "Gold")),
    ),
    qa(
        "Add up Norway's victories at the Winter Olympics of 1994 and 1998: what is the "
        "sum of golds?",
        ["winter-olympics-1994-medals", "winter-olympics-1998-medals"],
        plus(at("Norway", "Gold"), at("Norway", "Gold", table=1)),
    ),
    qa(
        "Over both the Summer and the Winter Olympics of 1992, how many gold medals went "
        "to the Unified Team?",
        ["olympics-1992-medals", "winter-olympics-1992-medals"],
        plus(at("Unified Team", "Gold"), at("Unified Team", "Gold", table=1)),
    ),
    qa(
        "Who lost the World Cup final that was played in Pasadena?",
        "world-cup-1994-knockout",
        at("Final", "Opponent"),
    ),
    qa(
        "Which team did Cameroon push to extra time in the last eight of Italia '90?",
        "world-cup-1990-knockout",
        at("Cameroon", "Winner"),
    ),
    qa(
        "At the tournament staged in France in 1998, who knocked Germany out?",
        "world-cup-1998-knockout",
        at("Germany", "Winner"),
    ),
    qa(
        "What was the score when Senegal went out of the 2002 World Cup?",
        "world-cup-2002-knockout",
        at("Senegal", "Score"),
    ),
    qa(
        "From the last eight onward, how many games of the World Cup in Germany in 2006 "
        "needed a shoot-out?",
        "world-cup-2006-knockout",
        holding("Settled in", "Penalties"),
    ),
    qa(
        "Which African side missed out on the World Cup semi-finals in 2010 on penalties?",
        "world-cup-2010-knockout",
        at("Uruguay", "Quarter-final", "Opponent"),
    ),
    qa(
        "What was the result when the Germans thrashed the hosts in Belo Horizonte?",
        "world-cup-2014-knockout",
        at("Semi-final", "Germany", "Score"),
    ),
    qa(
        "Which country came third at the World Cup in Russia?",
        "world-cup-2018-knockout",
        at("Third place", "Winner"),
    ),
    qa(
        "How was the dramatic final between Argentina and France in Qatar decided?",
        "world-cup-2022-knockout",
        at("Final", "Settled in"),
        "Penalties",
        "penalty shoot-out",
    ),
    qa(
        "Against whom did the French score the golden goal that made them European "
        "champions in 2000?",
        "euro-2000-knockout",
        at("Final", "Opponent"),
    ),
    qa(
        "Whom did Greece eliminate in the quarter-finals on the way to their sensational title?",
        "euro-2004-knockout",
        at("Greece", "Quarter-final", "Opponent"),
    ),
    qa(
        "Which nation sent the Dutch home from Euro 2008?",
        "euro-2008-knockout",
        at("Netherlands", "Winner"),
    ),
    qa(
        "What was the score of the final in Kyiv in which Spain kept their European crown?",
        "euro-2012-knockout",
        at("Final", "Score"),
    ),
    qa(
        "Iceland's dream run at the European Championship ended against which opponent?",
        "euro-2016-knockout",
        at("Iceland", "Winner"),
    ),
    qa(
        "How many of the last seven matches of Euro 2020 were over after 90 minutes?",
        "euro-2020-knockout",
        tally("Settled in", "90 minutes"),
    ),
    qa(
        "Which team did the English beat in the semi-final of Euro 2024?",
        "euro-2024-knockout",
        at("Semi-final", "England", "Opponent"),
    ),
    qa(
        "Which of Euro 2016 and Euro 2020 saw more penalty shoot-outs from the "
        "quarter-finals onward?",
        ["euro-2016-knockout", "euro-2020-knockout"],
        larger(
            holding("Settled in", "Penalties"),
            holding("Settled in", "Penalties", table=1),
            ("UEFA Euro 2016", "UEFA Euro 2020"),
        ),
        "Euro 2020",
        "2020",
    ),
]
