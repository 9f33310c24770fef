"""What instructions to a model look like, by kind and language.

Owns: the cues and the patterns of the safety gate.
Knows nothing of: how text is searched or prepared.
Invariants: 1. every match of a pattern contains a cue. 2. gaps are bounded and hold no repetition.
Purity: pure.
See: docs/threat-model.md (safety gate).

Written from how such texts work, not from lists of them: they void what the model was told, ask for what it was told,
give it another part to play, address it by name, dictate its words, or steer its reply. Patterns see lower-case text.
"""

import re
from collections.abc import Iterator

_GAP = r"[^.!?;]{0,40}?"
_SHORT = r"[^.!?;]{0,16}?"

_MODEL = r"(?:a\.?i\.?|llms?|language models?|chat ?bots?|chatgpt|gpt|assistants?|ai agents?|ai models?|ai systems?)"
_VOID = r"(?:ignor(?:e|es|ing)|igmre|disregard(?:ing)?|forget(?:ting)?|neglect|overlook|abandon|unlearn)"
_VOID_HARD = r"(?:override|overwrite|bypass|discard|drop|delete|erase|remove|skip|cancel|change|violate|break)"
_EARLIER = r"(?:previous|prior|above|preceding|earlier|foregoing|former|existing|original|initial|past|old)"
_TOLD = (
    r"(?:instructions?|prompts?|directions?|directives?|guidelines?|guidance|commands?|orders?|rules|tasks?|assignments?"
    r"|statements?|messages?|information|informations|context|documents?|articles?|artikels?|texts?|conversations?"
    r"|training|programming)"
)
_ORDERS = r"(?:instructions?|system prompts?|prompts?|directives?|guidelines|orders|programming|training)"

_ENGLISH = {
    "override": (
        rf"\b{_VOID}\b{_SHORT}\b{_EARLIER}\b{_SHORT}\b{_TOLD}\b",
        rf"\b{_VOID}\b{_SHORT}\b(?:all|any|every|your|the system|the developer'?s?)\b{_SHORT}\b{_ORDERS}\b",
        rf"\b{_VOID}\b{_SHORT}\b(?:all|any)\b {_SHORT}\b(?:documents?|articles?|artikels?|context)\b",
        (
            rf"\b{_VOID}\b (?:about )?(?:everything|anything|all|what)\b{_SHORT}\b(?:above|before|earlier|so far|previously"
            r"|you know|you(?:'ve| have)? (?:learned|been told|were told)|i (?:have )?(?:said|told|wrote|say)|we(?:'ve| have)?"
            r" (?:talked|discussed|said))\b"
        ),
        r"\b(?:now|then|but|and|please|[.!?:\n]) ?,? ?forget (?:about )?(?:everything|all of (?:it|that))\b",
        r"\bforget everything,? (?:and|write|say|print|just|now)\b",
        rf"\b{_VOID}\b (?:the |all |all of the )?above,? (?:and|prompt|text|directions|but|say)\b",
        (
            rf"\b{_VOID_HARD}\b{_SHORT}\b(?:your|all|any|previous|prior|preceding|earlier)\b{_SHORT}"
            r"\b(?:system prompts?|instructions|orders|directives|safety (?:rules|guidelines|measures|filters?)"
            r"|guardrails|previous tasks|thoughts)\b(?! (?:set|cache|count|per|that (?:are|is)|in the (?:list|queue)))"
        ),
        (
            r"\b(?:do not|don'?n?t|never|stop) (?:follow|following|obey|obeying|listen to|listening to|look in|answer)\b"
            rf"{_GAP}\b(?:previous|prior|above|your|system|original|provided)\b{_SHORT}\b(?:{_ORDERS}|documents)\b"
        ),
        (
            r"\bbypass(?:es|ing)? (?:source |all |any |the )?(?:validation|safety|moderation|content filters?|guardrails)\b"
            rf"{_GAP}\b(?:execute|instruction|prompt|evidence|command)"
        ),
        r"\b(?:remove|erase|clear|wipe)\b"
        + _SHORT
        + r"\b(?:tasks|instructions) (?:out of|from) your (?:head|mind|memory)\b",
    ),
    "reveal": (
        (
            r"\b(?:reveal|show|print|output|repeat|display|return|tell|give|leak|share|expose|write|say|summarize|translate"
            rf"|what (?:is|are|was|were))\b{_GAP}\b(?:your (?:\w+ )?(?:system |initial |original |hidden |full )?"
            r"(?:prompts?|instructions|embeddings|guidelines|rules)|system prompts?|(?:full |all |whole |entire )?prompt[ -]?texts?"
            r"|(?:initial|original|hidden|secret) (?:prompts?|instructions))\b"
        ),
        r"\bcopy of the (?:full |whole |entire |system )?(?:prompt|instructions)\b",
        r"\bwhat (?:was|is) (?:written|said) (?:above|at the (?:beginning|start|top))\b",
        r"\b(?:repeat|print|output|return) (?:all |everything |the |all of the )?(?:words?|text|everything|lines?) above\b",
    ),
    "role": (
        r"\bi (?:want|need|would like|'d like) you to (?:now )?(?:act|pretend|behave|roleplay|role-play|play)\b",
        (
            r"(?:\A|[.!?:\n\"]) {0,3}(?:please |now |human: )?(?:you )?(?:now )?act as (?:if|though|an? |the |two )"
            rf"{_GAP}(?:\.|,|\band\b|\n)"
        ),
        (
            r"\b(?:you are|you're|you will be|you act) now (?:an? |the |my |called |named |acting |playing |going to (?:act|play))"
            r"(?!member|part|few|step|little|bit|maintainer|contributor|user)"
        ),
        r"(?:\A|[.!?:,\n\"] {0,3}|\b(?:ok|okay|and|so)[.,]? )now you are \w+, ",
        (
            r"\bfrom (?:now|this point|here) on(?:wards?)?,? (?:you (?:are|will|must|shall|should|can|act)|your |act |answer"
            r" |respond |reply |ignore )"
        ),
        (
            r"\b(?:pretend|imagine|suppose|assume) (?:that )?you(?:'re| are| can| have)\b"
            rf"{_GAP}\b(?:no|not|without|past|ai|evil|unrestricted|access|restrictions?|rules)\b"
        ),
        r"\bimagine you are (?:an? |the )",
        r"\b(?:you are|you're) completely absorbed in your role\b",
        (
            r"\b(?:do not|don'?t|never|without (?:even )?(?:falling|breaking)) (?:ever )?(?:break(?:ing)?|out of)(?: out of)? (?:the |their |your )?"
            r"(?:character|role|figure)s?\b"
        ),
        r"\bstays? (?:fully )?in (?:their|your|his|her) roles?\b",
        r"\byou are a (?:forked|modified|jailbroken|new) version of\b",
    ),
    "jailbreak": (
        r"\b(?:do anything now|dan mode|developer mode (?:is )?(?:enabled|activated|on)|jailbr(?:oken|eak) mode)\b",
        (
            r"\bhas no (?:programming |ethical |moral )?(?:guidelines|restrictions|filters)\b"
            rf"{_GAP}\b(?:answer|respond|generat|say|output)"
        ),
        r"\bcompletely (?:immoral|unethical|unfiltered|amoral)\b",
        r"\b(?:you|and) (?:can|must|will|should)(?: now)? (?:answer|respond|say|do) anything\b",
    ),
    "address": (
        (
            rf"(?:\A|[.!?:\n\"(\[<>*-] ?)(?:note|message|instructions?|attention|important|notice|hint|reminder|order)s? (?:to|for) (?:the |any |all "
            rf"|every )?{_MODEL}\b(?:[:,.!]| (?:reading|processing|that|who|summari))"
        ),
        rf"\b(?:attention|dear|hello|hey|hallo|hi),? (?:all |any )?{_MODEL}\b ?(?:[:,!]|reading|processing)",
        (
            rf"\b(?:if|when|since|as) you are (?:an? |the )?(?:reading this as an? )?{_MODEL}\b(?: (?:reading|processing"
            r"|and)\b|, (?:you|please|ignore|do|say|answer|always|never|then|include|stop|output))"
        ),
        (
            rf"\b(?:the |any |every )?{_MODEL} (?:reading this|processing this|must (?:now )?(?:ignore|obey|execute"
            r"|reveal|output|reply|respond with)|should (?:now )?(?:ignore|disregard|obey) )"
        ),
        (
            r"\byou are (?:an? |the )[^.!?;]{0,30}\b(?:language model|ai assistant|chatbot)\b[^?;]{0,80}\b(?:you must|never"
            r"|always|do not|ignore|no longer)\b"
        ),
        r"\bare you as a language model\b",
    ),
    "conceal": (
        (
            r"\b(?:do not|don'?t|never) (?:tell|inform|mention (?:this|that|it|these)\b[^.!?;]{0,20} to|reveal (?:this|that|it)"
            r" to|alert|notify|let) (?:the |your |this )?(?:user|human|operator|reader)s?(?: know)?\b[^.!?;]{0,30}"
            r"\b(?:about|that|of|this|these|instruct)"
        ),
        r"\bwithout (?:telling|informing|alerting|mentioning (?:this|it) to) (?:the |your )(?:user|human|operator)\b",
    ),
    "dictate": (
        (
            r"\b(?:and|but|instead,?|please|you must|command you to) (?:just |only |simply |instead )"
            r"(?:say|answer|reply|respond|output|print|write|tell me)\b ?(?:with |that |: ?|as )?[\"'“”‘’«:]"
        ),
        r"\b(?:forget everything|do not look|command you)\b[^.!?;]{0,80}\b(?:just|only|to) (?:just |only )?(?:say|output|write|print)\b",
        r"\b(?:answer|respond|reply)(?: to)? (?:every|each|any|all)(?: question| time|thing)s?\b[^.!?;]{0,30}\bwith\b",
        r"\bevery time (?:you get|i ask|someone asks|you are asked)\b[^.!?;]{0,40}\b(?:answer|say|respond|reply)\b",
        r"\brepeat after me\b",
        r"(?:\A|[.!?\n\"] {0,3})stop ?[-:,]+ ?(?:write|say|print|output)\b",
        r"\b(?:and|but) instead (?:output|say|print|reply|respond|answer|tell me)\b",
        r"\boutput the translation as\b",
        r"\b(?:answer|respond) (?:by|from|with) your own knowledge\b",
        r"\binstruction: ",
        r"\bwhen asked (?:anything|something|about)\b[^.!?;]{0,30},? (?:you )?(?:must |should |always )(?:say|answer|reply|respond)\b",
    ),
    "new_task": (
        r"\b(?:new|additional) (?:tasks?|instructions?|orders?|assignments?) ?(?:follows?\b|comes? now\b|now (?:follow|come)|- )",
        r"\b(?:your|my) (?:new|next) (?:task|assignment|instruction)s?\b(?: is\b|: ?|, namely)",
        r"(?:\A|[.!?\n\"] ?)(?:new|additional) (?:instruction|statement|order)s? ?[-:]",
        r"\b(?:now|here) (?:come|comes|follow|follows)(?: a| the| some)? (?:new|next|second) (?:task|instruction|test|assignment)s?\b",
        r"\b(?:focus|concentrate)(?: only)? on (?:your|the|this) (?:new |next )?task\b",
        r"\b(?:urgent|important|critical|new|updated) (?:model|system|assistant) (?:instructions?|prompt|override|message)\b",
    ),
    "steer_reply": (
        (
            r"(?:\A|[.!?:\n\"] {0,3})(?:please |also |kindly )?(?:add|append|attach|include|insert|integrate|incorporate"
            r"|introduce|embed|weave|modify|alter|adjust|encode|convert|translate|replace|rearrange|reverse|scramble|remove"
            r"|misspell|jumble|group|swap|mix|deliver|craft|phrase|express|render|present|write|provide|give|use|begin|end"
            r"|start|conclude|enhance|mention|suggest|promote|highlight|advertise|recommend)\b[^.!?\n]{0,110}\b"
            r"(?:in|into|to|of|with|within|from|for|on|using|your) (?:your (?:\w+ )?)?(?:response|reply|replies|answer"
            r"|answers|responses)\b(?! (?:time|code|body|header|object|status|data|key|choices?|sheet|field|message))"
        ),
        (
            r"\b(?:your|the) (?:response|reply|answer)s? (?:must|should|shall|has to|have to|needs? to) (?:only |always |not )?"
            r"(?:be (?:in|written|encoded|reversed|backwards?)|contain the (?:phrase|words?|sentence)|start with the (?:phrase|words?)"
            r"|end with the (?:phrase|words?))"
        ),
    ),
    "execute": (
        (
            r"\b(?:execute|run|perform|follow|obey) (?:every|all|any|each)(?: of the)? (?:commands?|instructions?|orders?)\b"
            r"[^.!?;]{0,30}\b(?:in|from|below|inside) (?:this|the following|these) (?:note|document|text|file|page|message"
            r"|email|instructions?)\b"
        ),
    ),
    "markup": (
        r"<\|(?:im_start|im_end|system|user|assistant|endofprompt|begin_of_text|start_header_id)\|>",
        r"\[/inst\]|\[inst\] ?<<sys>>|<</sys>>",
        r"(?:\A|\n) {0,3}#{2,4} ?(?:system|instruction|human|assistant) ?: ?\S",
        r"\bbegin (?:system|admin|developer) (?:prompt|message|instructions)\b",
        r"\bhuman: human:",
    ),
}

_OTHER_LANGUAGES = {
    "override": (
        # German
        (
            r"\b(?:ignorier(?:en?|t)?|vergiss|vergessen sie|vergesst|missachten?|missachte|verwirf|verwerfen sie)\b"
            r"[^.!?;]{0,40}?\b(?:anweisung|instruktion|befehl|auftr[aä]g|aufgabe|angaben|vorgaben|prompt|obige|vorherig|bisherig"
            r"|alles|das gesagte|vorhin)"
        ),
        (
            r"\b(?:alle )?(?:vorherigen|bisherigen) (?:informationen|anweisungen|angaben)\b[^.!?;]{0,60}"
            r"\b(?:irrelevant|hinter sich|vergessen|nicht ganz|ungültig|unwichtig)"
        ),
        r"\bhöre? nicht auf (?:alles|das)\b",
        # Spanish, Portuguese, Italian, French
        (
            r"\b(?:ignor[aeo]r?|olvid[aeo]r?|olvídate|omit[ae]|esque[çc][ae]|esquecer|desconsidere|dimentic[ahi]{1,3}|oublie[zr]?"
            r"|ignore[zr]|ignori|scordati|ne ten(?:ez|ons) (?:pas|aucun) compte|ne tiens pas compte|haga caso omiso|haz caso omiso)\b"
            r"[^.!?;\n]{0,30}?\b(?:instruccion|instruction|instruç|istruzion|consigne|todo (?:lo )?(?:que|lo) (?:digo|dije|sabe|anterior|te)"
            r"|tutto (?:ciò|quello|quanto) (?:che )?(?:ho|hai|ti)|tout ce (?:que|qui)|tudo (?:o )?que (?:eu|foi|você)"
            r"|órdenes|ordens|indicaciones)"
        ),
        # Dutch, Polish, Swedish, Turkish
        r"\b(?:negeer|vergeet)\b[^.!?;]{0,30}?\b(?:instructie|opdracht|alles|vorige|bovenstaande)",
        r"\b(?:zignoruj|ignoruj|zapomnij)\b[^.!?;]{0,30}?(?:instrukcj|polece|wszystk|poprzedni)",
        r"\b(?:ignorera|glöm)\b[^.!?;]{0,30}?(?:instruktion|tidigare|allt)",
        r"(?:talimat|komut|yönerge)[^.!?;]{0,30}?(?:yok say|unut|görmezden gel|dikkate alma)",
        # Russian, Ukrainian
        (
            r"(?:игнорируй|забудь|отбрось|не обращай внимания|ігноруй|забудь)\w{0,4}[^.!?;]{0,40}?(?:инструкци|указани|команд|всё|все |всех"
            r"|предыдущ|прежни|вышесказанн|інструкці|вказівк|попередн)"
        ),
        # Chinese
        (
            r"(?:忽略|无视|無視|忽視|忘记|忘記|忘掉|不要理会|不要理會|不要遵守|不要遵循|抛弃|拋棄|丢弃)"
            r"[^。！？!?\n]{0,12}?(?:之前|以前|以上|上面|上述|前面|先前|此前|你的|您的|你收到)"
            r"[^。！？!?\n]{0,8}?(?:指令|指示|提示|命令|规则|規則|设定|設定|要求|约束|約束|限制|对话|對話|内容|任务|說的|说的)"
        ),
        (
            r"(?:忽略|无视|無視|忽視|忘记|忘記|忘掉|不要理会|不要遵守|不要遵循)[^。！？!?\n]{0,4}?(?:所有|全部|一切|任何|系统)"
            r"[^。！？!?\n]{0,4}?(?:指令|指示|提示词|提示詞|系统提示)"
        ),
        # Japanese, Korean
        r"(?:これまで|以前|上記|前|すべて|全て|全部)の?[^。！？\n]{0,6}?(?:指示|命令|プロンプト|ルール|指令|制約)(?:を|は|に|の内容を)[^。！？\n]{0,10}?(?:無視|忘れ|破棄|従わな)",
        r"(?:이전|위의|앞의|앞선|모든|지금까지)[^.!?\n]{0,6}?(?:지시|명령|프롬프트|지침)[^.!?\n]{0,10}?(?:무시|잊어|잊고|따르지)",
        # Arabic, Persian, Hindi
        r"(?:تجاهل|انس|انسى|تجاهلي|نادیده بگیر)[^.!؟\n]{0,30}?(?:تعليمات|التعليمات|أوامر|الأوامر|السابقة|دستور)",
        r"(?:निर्देश|आदेश|बातें)[^।\n]{0,30}?(?:अनदेखा|भूल|नज़रअंदाज|नजरअंदाज)",
        # Vietnamese, Indonesian
        r"\b(?:bỏ qua|phớt lờ|quên)\b[^.!?\n]{0,24}?(?:hướng dẫn|chỉ thị|lệnh|trước đó)",
        r"\b(?:abaikan|lupakan)\b[^.!?\n]{0,24}?(?:instruksi|perintah|sebelumnya)",
    ),
    "reveal": (
        (
            r"\b(?:zeig[et]?n?|druck[et]n?|gib|geben|nenn[et]?n?|verrat[et]?n?|verrate|wie lauteten)\b[^.!?;]{0,50}?\b(?:prompt|obige eingabeaufforderung|systemanweisung"
            r"|ursprünglichen anweisungen|obigen textes|deine anweisungen|ihre anweisungen)"
        ),
        r"\b(?:rechtschreibung)\b[^.!?;]{0,30}?\b(?:obig|eingabeaufforderung)",
        (
            r"\b(?:muestra|muéstrame|revela|imprime|montre|affiche|révèle|mostra|rivela|mostre|revele)\b[^.!?;]{0,40}?"
            r"\b(?:prompt|instrucciones|instructions|istruzioni|instruções)\b"
        ),
        r"(?:покажи|раскрой|выведи|напечатай|повтори)[^.!?;]{0,40}?(?:системн\w{1,4} (?:промпт|подсказк|инструкц)|промпт|свои инструкц)",
        (
            r"(?:输出|輸出|显示|顯示|打印|透露|泄露|洩露|告诉我|告訴我|复述|複述|重复|重複|展示|公开)[^。！？!?\n]{0,12}?"
            r"(?:系统提示|系統提示|提示词|提示詞|系统指令|系統指令|初始指令|初始提示|你的指令|你的设定|完整提示)"
        ),
        r"(?:システムプロンプト|初期プロンプト|内部指示|あなたの指示)[^。！？\n]{0,12}?(?:表示|出力|教え|開示|公開|見せ)",
        r"(?:시스템 ?프롬프트|초기 ?지시)[^.!?\n]{0,12}?(?:출력|보여|공개|알려)",
    ),
    "role": (
        r"\b(?:ich möchte|ich will), dass (?:du|sie) [^.!?;]{0,60}?\b(?:fungier|agier|auftret|auftritt|handel|verhalt|spiel)",
        r"\b(?:jetzt|nun|ab jetzt|ab sofort) bist du\b|\bdu bist (?:jetzt|nun|ab sofort)\b",
        r"\bstell(?:en sie sich| dir) (?:jetzt )?vor,? (?:du bist|sie sind|sie wären|du wärst) ",
        r"\bdu bist ke?ine? \w+ sondern\b",
        r"\b(?:quiero que (?:actúes|actues|act[uú]e)|act[uú]a como si|ahora eres|a partir de ahora (?:eres|serás|debes))\b",
        (
            r"\b(?:je veux que (?:tu agisses|vous agissiez)|tu es (?:maintenant|désormais) |vous êtes (?:maintenant|désormais) un|agis comme"
            r" si|à partir de maintenant,? (?:tu|vous))"
        ),
        r"\b(?:voglio che tu agisca|agisci come|d'ora in poi (?:sei|sarai|devi)|ora sei un)",
        r"\b(?:quero que você (?:aja|atue)|aja como (?:se|um)|agora você é|a partir de agora,? você)",
        r"(?:ты теперь|теперь ты|представь,? что ты|веди себя как|притворись|с этого момента ты)",
        (
            r"(?:你现在是|現在你是|你現在是|现在你是一|从现在(?:起|开始),?你|從現在(?:起|開始),?你|假装你是|假裝你是|请你?扮演|請你?扮演|你将扮演|你將扮演"
            r"|我(?:想|要|希望)让?你扮演|我(?:想|要)讓你扮演|充当我的|进入开发者模式)"
        ),
        r"(?:あなたは今から|今からあなたは|これからあなたは|のふりをして(?:ください|回答)|になりきって)",
        r"(?:지금부터 (?:너는|당신은|넌)|인 척 ?(?:해|하)|역할을 해 ?줘)",
        r"(?:أنت الآن|تظاهر بأنك|من الآن فصاعدا أنت)",
    ),
    "new_task": (
        r"\b(?:folgen|kommen|folgt|kommt)\b[^.!?;]{0,30}?\b(?:neue|weitere|zweite)[nrs]? (?:anweisung|aufgabe|aufträge|test)",
        r"\b(?:deine|eine|die) neue[n]? (?:aufgabe|herausforderung)\b[^.!?\n]{0,12}?[:.,!]",
        r"\bkonzentrier[et]?n? (?:dich|sie sich)\b[^.!?;]{0,20}?\b(?:aufgabe)",
        r"(?:新任务|新的任务|新指令|新的指令|新任務)(?:是|如下|：|:)",
    ),
    "dictate": (
        r"\bschreibe? (?:nur|einfach|stattdessen)\b|\bsag(?:e|en sie)? (?:nur|einfach|stattdessen) ",
        r"\bist die richtige antwort\b|\betwas, das sie sagen können, wenn sie etwas gefragt\b",
        r"\b(?:di lo siguiente|dites ce qui suit|solo (?:tienes que |debes )?(?:decir|di)\b|dis simplement)",
        r"(?:只(?:需要?|能|要)?(?:回答|回复|輸出|输出|说)[“「\"'])|(?:每次|无论|不管)[^。！？\n]{0,16}?(?:都|只)(?:回答|回复|输出)",
        r"\b(?:gib|geben sie) (?:eine? |mir )?antwort\b[^.!?;]{0,30}?\boder du\b",
    ),
    "steer_reply": (r"(?:在你的(?:回答|回复|回應|答案)中)[^。！？\n]{0,30}?(?:加入|包含|插入|提及|推荐)",),
}

# Every match of an English pattern contains one of these; they are cheap to look for and rare in ordinary text.
CUES = ("gnor", "orget", "isregard")


def _compiled() -> Iterator[tuple[str, re.Pattern[str]]]:
    for kinds in (_ENGLISH, _OTHER_LANGUAGES):
        for kind, patterns in kinds.items():
            for pattern in patterns:
                yield kind, re.compile(pattern)


PATTERNS = tuple(_compiled())
