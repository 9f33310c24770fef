"""Phrases in other languages that instruct a model.

Owns: the lists for German, the Romance languages, Dutch, Polish, Swedish, Turkish, Russian, Ukrainian, Chinese,
    Japanese, Korean, Arabic, Persian, Hindi, Vietnamese and Indonesian.
Knows nothing of: how text is searched or prepared.
Invariants: those of `phrases.py`.
Purity: pure.
See: docs/threat-model.md (safety gate).
"""

from indexerd.access.phrases import Phrase

WORDS = {
    "articles": ("las|los|les|le|as|os|tes|vos|tus|sus|estas|ces|todas|toutes|tutte|toda|mis|quelle|queste"),
    "de_told": (
        "anweisung|instruktion|befehl|auftr[aä]g|aufgabe|angaben|vorgaben|prompt|obige|vorherig|bisherig|alles"
        "|das gesagte"
    ),
    "zh_void": ("忽略|无视|無視|忽視|忘记|忘記|忘掉|不要理会|不要理會|不要遵守|不要遵循|抛弃|拋棄|丢弃|不用管"),
    "zh_told": ("指令|指示|提示|命令|规则|規則|设定|設定|要求|约束|約束|限制|对话|對話|内容|任务|說的|说的"),
    "zh_show": ("输出|輸出|显示|顯示|打印|透露|泄露|洩露|告诉我|告訴我|复述|複述|重复|重複|展示|公开|说出"),
}

PHRASES = (
    Phrase(
        "override",
        "nicht auf",
        "höre? nicht auf (?:alles|das) (?:zuvor|was|vorher|oben)",
    ),
    Phrase(
        "override",
        "ignor",
        r"ignorier(?:en?|t|e)?(?: sie)?\b[^.!?;]{0,40}?\b{de_told}",
    ),
    Phrase(
        "override",
        "vergiss|vergess",
        r"(?:vergiss|vergessen sie|vergesst)\b[^.!?;]{0,40}?\b{de_told}",
    ),
    Phrase(
        "override",
        "herigen",
        "(?:alle )?(?:vorherigen|bisherigen) (?:informationen|anweisungen|angaben|aufgaben)"
        r"\b[^.!?;]{0,60}\b(?:irrelevant|hinter sich|hinter dir|vergessen|nicht ganz|ungültig|unwichtig)",
    ),
    Phrase(
        "override",
        "ignor|olvid|esque|imentic|oublie|caso omiso|desconsider",
        "(?:ignor[aeo]|ignorar|ignorez|ignori|olvid[aeo]|olvidar|esque[çc]a|esqueça|esquecer|desconsidere"
        "|dimentic(?:a|he|hi|are)|oublie[zr]?|haga caso omiso|haz caso omiso)"
        r"\b[^.!?;\n]{0,20}?\b(?:{articles} [^.!?;\n]{0,16}?(?:instruccion|instruction|instruç|istruzion|consigne)"
        "|todo (?:lo )?(?:que|lo) (?:digo|dije|sabe|anterior|te|he)|tutto (?:ciò|quello|quanto) (?:che )?(?:ho|hai"
        "|ti)|tout ce (?:que|qui) (?:j|tu|vous|a|précède)|tudo (?:o )?que (?:eu|foi|você)|órdenes|ordens"
        "|indicaciones)",
    ),
    Phrase(
        "override",
        "negeer|vergeet",
        r"(?:negeer|vergeet)\b[^.!?;]{0,30}?\b(?:instructie|opdracht|alles wat|vorige|bovenstaande)",
    ),
    Phrase(
        "override",
        "ignor|zapomnij",
        r"(?:zignoruj|ignoruj|zapomnij)\b[^.!?;]{0,30}?(?:instrukcj|polece|wszystko|poprzedni)",
    ),
    Phrase(
        "override",
        "ignor|glöm",
        r"(?:ignorera|glöm)\b[^.!?;]{0,30}?(?:instruktion|tidigare|allt)",
    ),
    Phrase(
        "override",
        "önceki|tüm|yukarıdaki",
        "(?:önceki|tüm|yukarıdaki)[^.!?;]{0,20}(?:talimat|komut)[^.!?;]{0,30}?(?:yok say|unut|görmezden gel"
        "|dikkate alma)",
    ),
    Phrase(
        "override",
        "гнор|забуд|отбрось",
        r"(?:игнориру|проигнориру|забудь|отбрось|ігноруй)\w{0,4}[^.!?;]{0,40}?(?:инструкци|указани|команды выше"
        "|предыдущ|прежни|вышесказанн|всё,? что|все,? что|інструкці|вказівк|попередн)",
    ),
    Phrase(
        "override",
        "忽略|无视|無視|忽視|忘记|忘記|忘掉|不要理|不要遵|抛弃|拋棄|丢弃|不用管",
        r"…{zh_void}[^。！？!?\n]{0,12}?(?:之前|以前的|以上|上面|上述|前面|先前|此前|你的|您的|你收到)[^。！？!?\n]{0,8}?{zh_told}",
    ),
    Phrase(
        "override",
        "忽略|无视|無視|忽視|忘记|忘記|忘掉|不要理|不要遵|抛弃|拋棄|丢弃|不用管",
        r"…{zh_void}[^。！？!?\n]{0,4}?(?:所有|全部|一切|任何|系统)[^。！？!?\n]{0,4}?(?:指令|指示|提示词|提示詞|系统提示)",
    ),
    Phrase(
        "override",
        "無視|忘れ|破棄|従わな",
        r"…(?:これまで|以前|上記|前|すべて|全て|全部)の?[^。！？\n]{0,6}?(?:指示|命令|プロンプト|ルール|指令|制約)(?:を|は|に|の内容を)[^。！？\n]{0,10}?(?:無視|忘れ"
        "|破棄|従わな)",
    ),
    Phrase(
        "override",
        "무시|잊어|잊고|따르지",
        r"…(?:이전|위의|앞의|앞선|모든|지금까지)[^.!?\n]{0,6}?(?:지시|명령|프롬프트|지침)[^.!?\n]{0,10}?(?:무시|잊어|잊고|따르지)",
    ),
    Phrase(
        "override",
        "تجاهل|انس|نادیده",
        r"…(?:تجاهل|انس|نادیده بگیر)[^.!؟\n]{0,30}?(?:تعليمات|التعليمات|أوامر|الأوامر|دستور)",
    ),
    Phrase(
        "override",
        "निर्देश|आदेश",
        r"…(?:पिछले|सभी|पहले|ऊपर)[^।\n]{0,16}(?:निर्देशों|निर्देश |आदेश)[^।\n]{0,30}?(?:अनदेखा|भूल|नज़रअंदाज|नजरअंदाज)",
    ),
    Phrase(
        "override",
        "bỏ qua|phớt lờ|quên",
        r"(?:bỏ qua|phớt lờ|quên)\b[^.!?\n]{0,24}?(?:hướng dẫn|chỉ thị|lệnh) (?:trước|ở trên)",
    ),
    Phrase(
        "override",
        "abaikan|lupakan",
        r"(?:abaikan|lupakan)\b[^.!?\n]{0,24}?(?:instruksi|perintah) (?:sebelum|di atas)",
    ),
    Phrase(
        "reveal",
        "prompt|eingabeaufforderung|anweisung",
        "(?:zeige?(?: mir| alle| deinen?)?|zeigen sie|drucke?|drucken sie|gib|geben sie|nenne?|verrate?"
        r"|wie lauteten|wie lauten)\b[^.!?;]{0,50}?\b(?:prompt-?texte?\b|gesamten prompt|obige eingabeaufforderung"
        "|systemanweisung|ursprünglichen anweisungen|deine anweisungen|ihre anweisungen|deinen prompt)",
    ),
    Phrase(
        "reveal",
        "eingabeaufforderung|obige",
        r"(?:rechtschreibung|obigen textes)\b[^.!?;]{0,40}?\b(?:obig|eingabeaufforderung|drucken sie|druck)",
    ),
    Phrase(
        "reveal",
        "prompt|nstruc|istruzioni|instruç",
        "(?:muestra|muéstrame|revela|imprime|montre|affiche|révèle|mostra|rivela|mostre|revele)"
        r"\b[^.!?;]{0,30}?\b(?:tu prompt|tus instrucciones|tes instructions|vos instructions|le tue istruzioni"
        r"|suas instruções|prompt (?:del )?(?:sistema|système|di sistema|inicial|initial))\b",
    ),
    Phrase(
        "reveal",
        "промпт|инструкц",
        r"(?:покажи|раскрой|выведи|напечатай|повтори)[^.!?;]{0,40}?(?:системн\w{1,4} (?:промпт|подсказк|инструкц)"
        "|свой промпт|свои инструкц)",
    ),
    Phrase(
        "reveal",
        "提示|指令|设定",
        r"…{zh_show}[^。！？!?\n]{0,12}?(?:系统提示|系統提示|你的提示|系统指令|系統指令|初始指令|初始提示|你的指令|你的设定|完整提示)",
    ),
    Phrase(
        "reveal",
        "プロンプト|指示",
        r"…(?:システムプロンプト|初期プロンプト|内部指示|あなたの指示)[^。！？\n]{0,12}?(?:表示|出力|教え|開示|公開|見せ)",
    ),
    Phrase(
        "reveal",
        "프롬프트",
        r"…(?:시스템 ?프롬프트)[^.!?\n]{0,12}?(?:출력|보여|공개|알려)",
    ),
    Phrase(
        "role",
        ", dass ",
        r"(?:ich möchte|ich will), dass (?:du|sie) [^.!?;]{0,110}?\b(?:fungier|agier|auftret|auftritt|handel|verhalt"
        "|spiel)",
    ),
    Phrase(
        "role",
        " bist |du bist",
        r"(?:jetzt|nun|ab jetzt|ab sofort) bist du\b|du bist (?:jetzt|nun|ab sofort)\b"
        r"|du bist keine? \w{1,20} sondern\b",
    ),
    Phrase(
        "role",
        "tell dir|tellen sie sich",
        "stell(?:en sie sich| dir)(?: jetzt)? vor,? (?:du bist|du wärst|sie wären) ",
    ),
    Phrase(
        "role",
        "que actú|que actue|actúa como|ahora eres|de ahora",
        "(?:quiero que (?:actúes|actues|actue|actúe)|actúa como si|ahora eres (?:un|el|la)"
        r"|a partir de ahora (?:eres|serás|debes))\b",
    ),
    Phrase(
        "role",
        "je veux|tu es |vous êtes|agis comme|maintenant",
        "(?:je veux que (?:tu agisses|vous agissiez)|tu es (?:maintenant|désormais) |vous êtes (?:maintenant"
        "|désormais) un|agis comme si|à partir de maintenant,? (?:tu|vous) )",
    ),
    Phrase(
        "role",
        "agisc|ora in poi|ora sei",
        "(?:voglio che tu agisca|agisci come|d'ora in poi (?:sei|sarai|devi)|ora sei un)",
    ),
    Phrase(
        "role",
        "você",
        "(?:quero que você (?:aja|atue)|agora você é|a partir de agora,? você)",
    ),
    Phrase(
        "role",
        "теперь|представь|притвор|веди себя|этого момента",
        "(?:ты теперь|теперь ты|представь,? что ты|веди себя как|притворись,? (?:что|будто)|с этого момента ты)",
    ),
    Phrase(
        "role",
        "现在是|現在是|从现在|從現在|假装你|假裝你|扮演",
        "…(?:你现在是(?:一|个|我)|現在你是|你現在是|现在你是|从现在(?:起|开始)[,，]?你|從現在(?:起|開始)[,，]?你|假装你是|假裝你是|请你?扮演|請你?扮演|你将扮演|你將扮演|(?:想"
        "|要|希望)让?你扮演)",
    ),
    Phrase(
        "role",
        "あなた|ふりをして|なりきって",
        "…(?:あなたは今から|今からあなたは|これからあなたは|のふりをして(?:ください|回答)|になりきって(?:ください|回答|答))",
    ),
    Phrase(
        "role",
        "지금부터|인 척",
        "…(?:지금부터 (?:너는|당신은|넌)|인 척 ?(?:해줘|하고 대답))",
    ),
    Phrase(
        "role",
        "أنت الآن|تظاهر",
        "…(?:أنت الآن|تظاهر بأنك|من الآن فصاعدا أنت)",
    ),
    Phrase(
        "new_task",
        "neue|weitere|zweite",
        r"(?:folgen|kommen|folgt|kommt)\b[^.!?;]{0,30}?\b(?:neue|weitere|zweite)[nrs]? (?:anweisung|aufgabe|aufträge"
        "|test)",
    ),
    Phrase(
        "new_task",
        "neue",
        r"(?:deine|eine|die)(?: \w{1,10})? neue[n]? (?:aufgabe|herausforderung)\b[^.!?\n]{0,12}?[:.,!]",
    ),
    Phrase(
        "new_task",
        "aufgabe",
        r"konzentrier\w{0,3} (?:dich|sie sich)\b[^.!?;]{0,20}?\baufgabe",
    ),
    Phrase(
        "new_task",
        "新任务|新的任务|新指令|新的指令|新任務",
        "…(?:新任务|新的任务|新指令|新的指令|新任務)(?:是|如下|：|:)",
    ),
    Phrase(
        "dictate",
        "einfach|stattdessen",
        r"(?:schreibe?|sage?|sagen sie|schreiben sie) (?:einfach|stattdessen) [\"„“']?",
    ),
    Phrase(
        "dictate",
        "oder du ",
        r"antwort\b[^.!?;]{0,30}?\boder du (?:stirbst|wirst)\b",
    ),
    Phrase(
        "dictate",
        "lo siguiente|ce qui suit|que decir",
        "(?:di lo siguiente|dites ce qui suit|solo tienes que decir)",
    ),
    Phrase(
        "dictate",
        "回答|回复|輸出|输出|只说|要说|能说",
        r"…只(?:需要?|能|要)?(?:回答|回复|輸出|输出|说)[“「\"']",
    ),
    Phrase(
        "dictate",
        "都回答|都只回答|只回答|都回复|只回复",
        r"…(?:每次|无论|不管)[^。！？\n]{0,16}?(?:都|只)(?:回答|回复)",
    ),
    Phrase(
        "steer_reply",
        "在你的",
        r"…在你的(?:回答|回复|回應|答案)中[^。！？\n]{0,30}?(?:加入|包含|插入|提及|推荐)",
    ),
)
