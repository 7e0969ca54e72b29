"""Administrative divisions, national parks, countries by region and metro systems."""

from __future__ import annotations

from .model import Table, lines, table

DIVISION_HEADER = "Division|Capital|ISO 3166-2 code"
PARK_HEADER = "Park|Location|Established"
PARK_SECTION = "Selected parks by date of establishment"
COUNTRY_HEADER = "Country|Capital|Currency|Internet domain"
METRO_HEADER = "City|Country|First section opened"

DIVISIONS: dict[str, tuple[str, str, str]] = {
    "canada": (
        "Provinces and territories of Canada",
        "Provinces",
        """
Alberta|Edmonton|CA-AB
British Columbia|Victoria|CA-BC
Manitoba|Winnipeg|CA-MB
New Brunswick|Fredericton|CA-NB
Newfoundland and Labrador|St. John's|CA-NL
Nova Scotia|Halifax|CA-NS
Ontario|Toronto|CA-ON
Prince Edward Island|Charlottetown|CA-PE
Quebec|Quebec City|CA-QC
Saskatchewan|Regina|CA-SK
""",
    ),
    "australia": (
        "States and territories of Australia",
        "States and internal territories",
        """
Australian Capital Territory|Canberra|AU-ACT
New South Wales|Sydney|AU-NSW
Northern Territory|Darwin|AU-NT
Queensland|Brisbane|AU-QLD
South Australia|Adelaide|AU-SA
Tasmania|Hobart|AU-TAS
Victoria|Melbourne|AU-VIC
Western Australia|Perth|AU-WA
""",
    ),
    "germany": (
        "States of Germany",
        "Area states",
        """
Baden-Württemberg|Stuttgart|DE-BW
Bavaria|Munich|DE-BY
Brandenburg|Potsdam|DE-BB
Hesse|Wiesbaden|DE-HE
Lower Saxony|Hanover|DE-NI
Mecklenburg-Vorpommern|Schwerin|DE-MV
North Rhine-Westphalia|Düsseldorf|DE-NW
Rhineland-Palatinate|Mainz|DE-RP
Saarland|Saarbrücken|DE-SL
Saxony|Dresden|DE-SN
Saxony-Anhalt|Magdeburg|DE-ST
Schleswig-Holstein|Kiel|DE-SH
Thuringia|Erfurt|DE-TH
""",
    ),
    "austria": (
        "States of Austria",
        "List of states",
        """
Burgenland|Eisenstadt|AT-1
Carinthia|Klagenfurt|AT-2
Lower Austria|Sankt Pölten|AT-3
Upper Austria|Linz|AT-4
Salzburg|Salzburg|AT-5
Styria|Graz|AT-6
Tyrol|Innsbruck|AT-7
Vorarlberg|Bregenz|AT-8
Vienna|Vienna|AT-9
""",
    ),
    "belgium": (
        "Provinces of Belgium",
        "List of provinces",
        """
Antwerp|Antwerp|BE-VAN
East Flanders|Ghent|BE-VOV
Flemish Brabant|Leuven|BE-VBR
Hainaut|Mons|BE-WHT
Liège|Liège|BE-WLG
Limburg|Hasselt|BE-VLI
Luxembourg|Arlon|BE-WLX
Namur|Namur|BE-WNA
Walloon Brabant|Wavre|BE-WBR
West Flanders|Bruges|BE-VWV
""",
    ),
    "netherlands": (
        "Provinces of the Netherlands",
        "List of provinces",
        """
Drenthe|Assen|NL-DR
Flevoland|Lelystad|NL-FL
Friesland|Leeuwarden|NL-FR
Gelderland|Arnhem|NL-GE
Groningen|Groningen|NL-GR
Limburg|Maastricht|NL-LI
North Brabant|'s-Hertogenbosch|NL-NB
North Holland|Haarlem|NL-NH
Overijssel|Zwolle|NL-OV
South Holland|The Hague|NL-ZH
Utrecht|Utrecht|NL-UT
Zeeland|Middelburg|NL-ZE
""",
    ),
    "south-africa": (
        "Provinces of South Africa",
        "List of provinces",
        """
Eastern Cape|Bhisho|ZA-EC
Free State|Bloemfontein|ZA-FS
Gauteng|Johannesburg|ZA-GP
KwaZulu-Natal|Pietermaritzburg|ZA-KZN
Limpopo|Polokwane|ZA-LP
Mpumalanga|Mbombela|ZA-MP
North West|Mahikeng|ZA-NW
Northern Cape|Kimberley|ZA-NC
Western Cape|Cape Town|ZA-WC
""",
    ),
}

PARKS: dict[str, tuple[str, str]] = {
    "united-states": (
        "National parks of the United States",
        """
Yellowstone|Wyoming, Montana and Idaho|1872
Sequoia|California|1890
Yosemite|California|1890
Mount Rainier|Washington|1899
Crater Lake|Oregon|1902
Wind Cave|South Dakota|1903
Glacier|Montana|1910
Rocky Mountain|Colorado|1915
Denali|Alaska|1917
Acadia|Maine|1919
Grand Canyon|Arizona|1919
Zion|Utah|1919
Bryce Canyon|Utah|1928
Death Valley|California and Nevada|1994
""",
    ),
    "canada": (
        "National parks of Canada",
        """
Banff|Alberta|1885
Glacier|British Columbia|1886
Yoho|British Columbia|1886
Jasper|Alberta|1907
Mount Revelstoke|British Columbia|1914
Kootenay|British Columbia|1920
Wood Buffalo|Alberta and Northwest Territories|1922
Prince Albert|Saskatchewan|1927
Cape Breton Highlands|Nova Scotia|1936
Fundy|New Brunswick|1948
Gros Morne|Newfoundland and Labrador|1973
""",
    ),
    "new-zealand": (
        "National parks of New Zealand",
        """
Tongariro|North Island|1887
Egmont|North Island|1900
Arthur's Pass|South Island|1929
Abel Tasman|South Island|1942
Fiordland|South Island|1952
Aoraki / Mount Cook|South Island|1953
Nelson Lakes|South Island|1956
Westland Tai Poutini|South Island|1960
Mount Aspiring|South Island|1964
Whanganui|North Island|1986
Paparoa|South Island|1987
Kahurangi|South Island|1996
Rakiura|Stewart Island|2002
""",
    ),
    "united-kingdom": (
        "National parks of the United Kingdom",
        """
Peak District|England|1951
Lake District|England|1951
Snowdonia|Wales|1951
Dartmoor|England|1951
Pembrokeshire Coast|Wales|1952
North York Moors|England|1952
Yorkshire Dales|England|1954
Exmoor|England|1954
Northumberland|England|1956
Brecon Beacons|Wales|1957
Loch Lomond and the Trossachs|Scotland|2002
Cairngorms|Scotland|2003
New Forest|England|2005
South Downs|England|2010
""",
    ),
    "germany": (
        "National parks of Germany",
        """
Bavarian Forest|Bavaria|1970
Berchtesgaden|Bavaria|1978
Schleswig-Holstein Wadden Sea|Schleswig-Holstein|1985
Lower Saxon Wadden Sea|Lower Saxony|1986
Müritz|Mecklenburg-Vorpommern|1990
Jasmund|Mecklenburg-Vorpommern|1990
Saxon Switzerland|Saxony|1990
Lower Oder Valley|Brandenburg|1995
Hainich|Thuringia|1997
Eifel|North Rhine-Westphalia|2004
Kellerwald-Edersee|Hesse|2004
Black Forest|Baden-Württemberg|2014
""",
    ),
    "south-africa": (
        "National parks of South Africa",
        """
Kruger|Limpopo and Mpumalanga|1926
Addo Elephant|Eastern Cape|1931
Bontebok|Western Cape|1931
Mountain Zebra|Eastern Cape|1937
Golden Gate Highlands|Free State|1963
Table Mountain|Western Cape|1998
""",
    ),
}

COUNTRIES: dict[str, str] = {
    "South America": """
Argentina|Buenos Aires|Argentine peso|.ar
Bolivia|Sucre|Boliviano|.bo
Brazil|Brasília|Real|.br
Chile|Santiago|Chilean peso|.cl
Colombia|Bogotá|Colombian peso|.co
Ecuador|Quito|United States dollar|.ec
Guyana|Georgetown|Guyanese dollar|.gy
Paraguay|Asunción|Guaraní|.py
Peru|Lima|Sol|.pe
Suriname|Paramaribo|Surinamese dollar|.sr
Uruguay|Montevideo|Uruguayan peso|.uy
Venezuela|Caracas|Bolívar|.ve
""",
    "Central America": """
Belize|Belmopan|Belize dollar|.bz
Costa Rica|San José|Colón|.cr
El Salvador|San Salvador|United States dollar|.sv
Guatemala|Guatemala City|Quetzal|.gt
Honduras|Tegucigalpa|Lempira|.hn
Nicaragua|Managua|Córdoba|.ni
Panama|Panama City|Balboa|.pa
""",
    "Southeast Asia": """
Brunei|Bandar Seri Begawan|Brunei dollar|.bn
Cambodia|Phnom Penh|Riel|.kh
East Timor|Dili|United States dollar|.tl
Indonesia|Jakarta|Rupiah|.id
Laos|Vientiane|Kip|.la
Malaysia|Kuala Lumpur|Ringgit|.my
Myanmar|Naypyidaw|Kyat|.mm
Philippines|Manila|Philippine peso|.ph
Singapore|Singapore|Singapore dollar|.sg
Thailand|Bangkok|Baht|.th
Vietnam|Hanoi|Dong|.vn
""",
    "East Africa": """
Burundi|Gitega|Burundian franc|.bi
Djibouti|Djibouti|Djiboutian franc|.dj
Eritrea|Asmara|Nakfa|.er
Ethiopia|Addis Ababa|Birr|.et
Kenya|Nairobi|Kenyan shilling|.ke
Rwanda|Kigali|Rwandan franc|.rw
Somalia|Mogadishu|Somali shilling|.so
South Sudan|Juba|South Sudanese pound|.ss
Tanzania|Dodoma|Tanzanian shilling|.tz
Uganda|Kampala|Ugandan shilling|.ug
""",
    "Southern Africa": """
Angola|Luanda|Kwanza|.ao
Botswana|Gaborone|Pula|.bw
Eswatini|Mbabane|Lilangeni|.sz
Lesotho|Maseru|Loti|.ls
Madagascar|Antananarivo|Ariary|.mg
Malawi|Lilongwe|Malawian kwacha|.mw
Mozambique|Maputo|Metical|.mz
Namibia|Windhoek|Namibian dollar|.na
Zambia|Lusaka|Zambian kwacha|.zm
""",
    "Central Asia and the South Caucasus": """
Armenia|Yerevan|Dram|.am
Azerbaijan|Baku|Azerbaijani manat|.az
Georgia|Tbilisi|Lari|.ge
Kazakhstan|Astana|Tenge|.kz
Kyrgyzstan|Bishkek|Kyrgyz som|.kg
Tajikistan|Dushanbe|Somoni|.tj
Turkmenistan|Ashgabat|Turkmen manat|.tm
Uzbekistan|Tashkent|Uzbek sum|.uz
""",
}

METROS: dict[str, str] = {
    "Western Europe": """
London|United Kingdom|1863
Glasgow|United Kingdom|1896
Paris|France|1900
Berlin|Germany|1902
Hamburg|Germany|1912
Madrid|Spain|1919
Barcelona|Spain|1924
Stockholm|Sweden|1950
Rome|Italy|1955
Lisbon|Portugal|1959
Milan|Italy|1964
Oslo|Norway|1966
Helsinki|Finland|1982
Copenhagen|Denmark|2002
""",
    "Former Soviet Union": """
Moscow|Russia|1935
Saint Petersburg|Russia|1955
Kyiv|Ukraine|1960
Tbilisi|Georgia|1966
Baku|Azerbaijan|1967
Kharkiv|Ukraine|1975
Tashkent|Uzbekistan|1977
Yerevan|Armenia|1981
Minsk|Belarus|1984
""",
    "East and South Asia": """
Tokyo|Japan|1927
Osaka|Japan|1933
Nagoya|Japan|1957
Sapporo|Japan|1971
Seoul|South Korea|1974
Hong Kong|China|1979
Kolkata|India|1984
Singapore|Singapore|1987
Shanghai|China|1993
Taipei|Taiwan|1996
Delhi|India|2002
""",
    "The Americas": """
New York City|United States|1904
Buenos Aires|Argentina|1913
Toronto|Canada|1954
Montreal|Canada|1966
Mexico City|Mexico|1969
São Paulo|Brazil|1974
Santiago|Chile|1975
Washington, D.C.|United States|1976
Rio de Janeiro|Brazil|1979
Caracas|Venezuela|1983
""",
}


def _slug(text: str) -> str:
    """File-name-safe form of a heading."""
    return text.lower().replace(" the ", " ").removeprefix("the ").replace(" ", "-")


def _divisions() -> list[Table]:
    return [
        table(f"divisions-of-{slug}", title, section, DIVISION_HEADER, lines(body))
        for slug, (title, section, body) in DIVISIONS.items()
    ]


def _parks() -> list[Table]:
    made = []
    for slug, (title, body) in PARKS.items():
        made.append(table(f"parks-of-{slug}", title, PARK_SECTION, PARK_HEADER, lines(body)))
    return made


def _countries() -> list[Table]:
    made = []
    for region, body in COUNTRIES.items():
        title = f"{region}: sovereign states"
        table_id = f"countries-{_slug(region)}"
        section = "Capitals and currencies"
        made.append(table(table_id, title, section, COUNTRY_HEADER, lines(body)))
    return made


def _metros() -> list[Table]:
    made = []
    for region, body in METROS.items():
        table_id = f"metros-{_slug(region)}"
        made.append(table(table_id, "Urban rapid transit", region, METRO_HEADER, lines(body)))
    return made


def tables() -> list[Table]:
    """All the tables of geography."""
    return [*_divisions(), *_parks(), *_countries(), *_metros()]
