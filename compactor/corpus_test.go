package compactor

import (
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/build"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn/internal/check"
)

// The texts that check the token estimate: some written for it, some from the Go installation, some
// generated from word lists with a seed.

//go:embed testdata/*.txt
var prose embed.FS

func written(t testing.TB, name string) string {
	t.Helper()
	text, err := prose.ReadFile("testdata/" + name + ".txt")
	check.NoError(t, err)
	return string(text)
}

// fromGo returns this many bytes of source files of the Go installation, the same number of each.
func fromGo(t testing.TB, most int, files ...string) string {
	t.Helper()
	var b strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(build.Default.GOROOT, name))
		if err != nil {
			t.Logf("this Go has no %s", name)
			continue
		}
		half := len(text) / 3 // past the licence
		b.Write(text[half:min(half+most/len(files), len(text))])
		b.WriteByte('\n')
	}
	return strings.ToValidUTF8(b.String(), "")
}

// grammar generates chat from templates: $p is a person, $d something done, $w a place, $t a time,
// $y a reason and $r a reaction.
type grammar struct {
	seed      int64
	templates []string
	words     map[byte][]string
}

func lists(person, done, where, when, why, reaction string) map[byte][]string {
	split := func(s string) []string { return strings.Split(s, "|") }
	return map[byte][]string{'p': split(person), 'd': split(done), 'w': split(where), 't': split(when), 'y': split(why), 'r': split(reaction)}
}

func (g grammar) say(bytes int) string {
	rng := rand.New(rand.NewSource(g.seed))
	pick := func(list []string) string { return list[rng.Intn(len(list))] }
	var b strings.Builder
	for n := 1; b.Len() < bytes; n++ {
		fmt.Fprintf(&b, "[#%d 2026-%02d-%02d %02d:%02d %s] ", n, n%12+1, n%28+1, n%24, rng.Intn(60), pick(g.words['p']))
		for range 1 + rng.Intn(3) {
			template := pick(g.templates)
			for i := 0; i < len(template); i++ {
				switch {
				case template[i] == '$' && template[i+1] == 'n':
					fmt.Fprint(&b, 2+rng.Intn(48))
					i++
				case template[i] == '$':
					b.WriteString(pick(g.words[template[i+1]]))
					i++
				default:
					b.WriteByte(template[i])
				}
			}
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var grammars = map[string]grammar{
	"English": {1, []string{
		"did you manage to $d $w?", "I couldn't $d yet because $y, sorry.", "$r $p wants to $d $t.", "Let's meet $w $t and $d together.",
		"has anyone seen what happened $w? $r", "$p said we should $d, but $y...", "ok so I'll $d $t, it takes about $n minutes", "$r",
		"Remember that $p can't $d $t since $y.", "We still need $n more people who $d $w; please tell $p.",
	}, lists("Ada|Grace|Tomás|Priya|Olu|Marta|Jens|Wei", "water the tomatoes|restart the staging server|book the ferry|return the library books|review the pull request|call the plumber|bake a lemon cake|fix the printer|paint the fence|sell the old bikes|translate the letter|rehearse the second act|feed the neighbour's cat",
		"at the harbour|in the new office|behind the station|at my sister's place|in the garden|on the third floor|near the bakery|at the clinic|in Lisbon|by the river",
		"tomorrow morning|next Thursday|after lunch|on the 12th|before the weekend|at half past seven|in two weeks|tonight",
		"the budget isn't approved|my train was cancelled|it has been raining all day|nobody answered the phone|the certificate expired|the kids are ill|the shop closes early|we ran out of flour",
		"haha exactly!|that's brilliant 🎉|hmm, not sure about that.|oh no...|thanks a lot!|sounds good 👍|wait, really?|same here lol|no worries.")},
	"Chinese": {2, []string{
		"你$t能$d吗？", "我还没有$d，因为$y，不好意思。", "$r$p说他想$t$d。", "我们$t在$w见面，然后一起$d吧。", "有谁知道$w发生了什么？$r", "$p建议先$d，可是$y……",
		"好的，那我$t去$d，大概需要$n分钟。", "$r", "记得告诉$p，$t不能$d，$y。", "在$w还缺$n个人，谁愿意来$d？",
	}, lists("王磊|陈静|阿明|刘洋|小雨|赵老师|孙悦", "给番茄浇水|重启测试服务器|订船票|还图书馆的书|审核代码|打电话给水管工|烤柠檬蛋糕|修打印机|粉刷栅栏|卖掉旧自行车|翻译那封信|排练第二幕|喂邻居的猫",
		"码头|新办公室|火车站后面|我姐姐家|花园里|三楼|面包店附近|诊所|上海|河边", "明天早上|下周四|午饭以后|十二号|周末之前|晚上七点半|两个星期后|今晚",
		"预算还没批下来|我的火车取消了|一整天都在下雨|没有人接电话|证书过期了|孩子们生病了|商店关门很早|面粉用完了", "哈哈，就是这样！|太棒了🎉|嗯，我不太确定。|糟糕……|非常感谢！|听起来不错👍|等等，真的吗？|我也是。|没关系。")},
	"Japanese": {3, []string{
		"$t、$wで$dできますか？", "まだ$dしていません。$yので、すみません。", "$r$pさんが$t$dしたいそうです。", "$tに$wで会って、一緒に$dしましょう。", "$wで何があったか知っている人いますか？$r",
		"$pさんは$dしたほうがいいと言っていましたが、$yので…", "了解です、$t$dしますね。$n分くらいかかると思います。", "$r", "$pさんに、$tは$dできないと伝えてください。$yからです。", "$wで$dする人があと$n人必要です。",
	}, lists("田中|鈴木|さくら|伊藤|ケンジ|美咲|渡辺", "トマトの水やり|サーバーの再起動|フェリーの予約|本の返却|コードのレビュー|水道屋さんへの電話|ケーキ作り|プリンターの修理|フェンスのペンキ塗り|古い自転車の販売|手紙の翻訳|第二幕の練習|猫の世話",
		"港|新しいオフィス|駅の裏|姉の家|庭|三階の会議室|パン屋の近く|病院|大阪|川沿い", "明日の朝|来週の木曜日|昼食のあと|十二日|週末の前|夜七時半|二週間後|今夜",
		"予算がまだ通っていない|電車が止まってしまった|一日中雨が降っている|誰も電話に出ない|証明書の期限が切れた|子どもが風邪をひいた|店が早く閉まる|小麦粉がなくなった", "あはは、そうですね！|すごい🎉|うーん、どうでしょう。|ああ、しまった…|ありがとうございます！|いいですね👍|えっ、本当ですか？|わたしもです。|気にしないでください。")},
	"Korean": {4, []string{
		"$t에 $w에서 $d 할 수 있어요?", "아직 $d 못 했어요. $y서요, 죄송해요.", "$r $p 님이 $t에 $d 하고 싶대요.", "$t에 $w에서 만나서 같이 $d 해요.", "$w에서 무슨 일이 있었는지 아는 사람 있어요? $r",
		"$p 님은 $d부터 하자고 했는데 $y서...", "네 그럼 제가 $t에 $d 할게요, $n분쯤 걸릴 것 같아요", "$r", "$p 님한테 $t에는 $d 못 한다고 전해 주세요. $y서 그래요.", "$w에서 $d 할 사람이 $n명 더 필요해요.",
	}, lists("지훈|서연|하늘|도윤|유진|은지|태호", "토마토 물 주기|서버 재시작|배표 예약|책 반납|코드 검토|배관공에게 전화|레몬 케이크 굽기|프린터 수리|울타리 칠하기|헌 자전거 팔기|편지 번역|2막 연습|옆집 고양이 밥 주기",
		"부두|새 사무실|역 뒤|언니 집|마당|삼 층 회의실|빵집 근처|병원|부산|강가", "내일 아침|다음 주 목요일|점심 먹고 나서|12일|주말 전|저녁 일곱 시 반|이 주 뒤|오늘 밤",
		"예산이 아직 안 나와|기차가 취소돼|하루 종일 비가 와|아무도 전화를 안 받아|인증서가 만료돼|아이들이 아파|가게가 일찍 닫아|밀가루가 다 떨어져", "ㅋㅋㅋ 맞아요!|대박 🎉|음, 잘 모르겠네요.|아이고...|정말 고마워요!|좋아요 👍|잠깐만, 진짜요?|저도요 ㅎㅎ|괜찮아요.")},
	"Russian": {5, []string{
		"ты успеешь $d $t?", "Я ещё не могу $d, потому что $y, извини.", "$r $p хочет $d $t.", "Давайте встретимся $w $t и попробуем $d вместе.", "кто-нибудь знает, что случилось $w? $r", "$p предлагает сначала $d, но $y...",
		"ладно, тогда я пойду $d $t, это минут $n", "$r", "Передайте, что $p не может $d $t: $y.", "Нужно ещё $n человек, чтобы $d $w.",
	}, lists("Аня|Борис|Катя|Дмитрий|Оля|Серёжа|Марина", "полить помидоры|перезапустить тестовый сервер|заказать билеты на паром|вернуть книги в библиотеку|проверить код|вызвать сантехника|испечь лимонный пирог|починить принтер|покрасить забор|продать старые велосипеды|перевести письмо|отрепетировать второй акт|покормить соседскую кошку",
		"на пристани|в новом офисе|за вокзалом|у моей сестры|в саду|на третьем этаже|возле пекарни|в поликлинике|в Казани|у реки", "завтра утром|в следующий четверг|после обеда|двенадцатого числа|до выходных|в половине восьмого|через две недели|сегодня вечером",
		"бюджет ещё не утвердили|мой поезд отменили|весь день льёт дождь|никто не берёт трубку|истёк сертификат|дети заболели|магазин рано закрывается|кончилась мука", "ха-ха, точно!|отлично 🎉|хм, не уверена.|ой, беда...|спасибо большое!|договорились 👍|погоди, серьёзно?|и я тоже)|ничего страшного.")},
	"Arabic": {6, []string{
		"هل تستطيع $d $t؟", "لم أتمكن من $d حتى الآن لأن $y، آسف.", "$r $p يريد $d $t.", "لنلتق $w $t ثم نحاول $d معاً.", "هل يعرف أحد ماذا حدث $w؟ $r", "اقترح $p البدء بـ$d، لكن $y...",
		"حسناً، سأحاول $d $t، يستغرق ذلك $n دقيقة تقريباً", "$r", "أخبروا $p أنه لا يمكن $d $t لأن $y.", "نحتاج إلى $n أشخاص آخرين من أجل $d $w.",
	}, lists("أحمد|ليلى|مريم|عمر|نور|حسن|فاطمة", "سقي الطماطم|إعادة تشغيل الخادم|حجز تذاكر السفينة|إعادة الكتب إلى المكتبة|مراجعة الشيفرة|الاتصال بالسباك|خبز كعكة الليمون|إصلاح الطابعة|طلاء السياج|بيع الدراجات القديمة|ترجمة الرسالة|التدرب على الفصل الثاني|إطعام قطة الجيران",
		"عند الميناء|في المكتب الجديد|خلف المحطة|في بيت أختي|في الحديقة|في الطابق الثالث|قرب المخبز|في العيادة|في القاهرة|عند النهر", "صباح الغد|يوم الخميس القادم|بعد الغداء|في الثاني عشر من الشهر|قبل نهاية الأسبوع|الساعة السابعة والنصف|بعد أسبوعين|الليلة",
		"الميزانية لم تعتمد بعد|قطاري ألغي|المطر يهطل طوال اليوم|لا أحد يرد على الهاتف|الشهادة انتهت صلاحيتها|الأطفال مرضى|المتجر يغلق مبكراً|الطحين نفد", "هههه بالضبط!|رائع 🎉|لست متأكداً من ذلك.|يا إلهي...|شكراً جزيلاً!|فكرة جيدة 👍|لحظة، حقاً؟|وأنا كذلك.|لا بأس.")},
	"emoji": {
		7,
		[]string{"$r$r", "$d $r", "$r$r$r $w", "$d $w$w", "$r $t", "$w$y", "$y$y $d", "$n $r$w"},
		lists("Ada|Mo|Lin", "yes|no way|congrats|good night|miss you|see you|omg|love it|so tired|让我看看|すごい|ㅋㅋㅋ|ура",
			"🍕|🍺|🚀|🌈|✨|🐶|🐱|🦊|🌸|☕|🎂|🏖️|⛰️|🚲|🎸|📚|🌧️|☀️|🍓|🥑|🧁|🪴", "🇩🇪|🇯🇵|🇧🇷|🏳️‍🌈|1️⃣|✅|❌|⚠️|➡️|⭐|💯|🆗",
			"👨‍👩‍👧|🤷‍♀️|👩‍💻|🙋🏽‍♂️|👍🏾|👋🏻|🤦‍♂️|💁‍♀️|👨‍🍳|🧑‍🚀", "😀|😂|🥰|👍|🎉|🔥|😭|🙏|❤️|😅|🤔|😊|😎|🥳|😱|🙈|💪|👏|😴|🤯|🫠|💔|😡"),
	},
}

func jsons(seed int64) string {
	rng := rand.New(rand.NewSource(seed))
	id := func() string {
		raw := make([]byte, 16)
		rng.Read(raw)
		h := hex.EncodeToString(raw)
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	}
	pick := func(list ...string) string { return list[rng.Intn(len(list))] }
	var orders, pretty, users, config []any
	for i := range 45 {
		at := time.Date(2026, 3, 1+i%28, i%24, rng.Intn(60), rng.Intn(60), 0, time.UTC).Format(time.RFC3339)
		orders = append(orders, map[string]any{
			"order_id": id(), "created_at": at, "status": pick("paid", "pending", "refunded"), "total_cents": rng.Intn(100000), "currency": pick("EUR", "USD", "JPY"),
			"lines": []any{map[string]any{"sku": fmt.Sprintf("BK-%05d", rng.Intn(99999)), "qty": 1 + rng.Intn(9), "unit_price": float64(rng.Intn(9999)) / 100}}, "shipping": map[string]any{"city": pick("Lisbon", "Oslo", "Graz"), "express": i%2 == 0},
		})
		pretty = append(pretty, map[string]any{"id": i, "name": pick("widget", "gear", "lever") + fmt.Sprint(" ", i), "tags": []string{pick("new", "old"), pick("sale", "stock")}, "size": map[string]any{"width": rng.Intn(300), "height": rng.Intn(300)}, "description": pick("A small part that holds the larger one.", "Made of steel, painted green.", "Not sold separately.")})
		users = append(users, map[string]any{"id": rng.Intn(1e9), "login": pick("ada", "grace", "tomas") + fmt.Sprint(rng.Intn(999)), "avatar_url": "https://avatars.example.com/u/" + fmt.Sprint(rng.Intn(1e8)) + "?v=4", "html_url": "https://example.com/ada", "type": "User", "site_admin": false, "score": rng.Float64()})
		config = append(config, map[string]any{"name": pick("web", "worker", "cache"), "image": "registry.example.com/team/" + pick("web", "worker") + ":v1." + fmt.Sprint(rng.Intn(40)) + ".0", "env": map[string]any{"LOG_LEVEL": "info", "DATABASE_URL": "postgres://db:5432/app", "MAX_CONNS": fmt.Sprint(rng.Intn(200))}, "ports": []int{8080, 9090}, "resources": map[string]any{"limits": map[string]any{"cpu": "500m", "memory": "512Mi"}}})
	}
	compact, _ := json.Marshal(orders)
	indented, _ := json.MarshalIndent(pretty, "", "  ")
	flat, _ := json.Marshal(users)
	tabs, _ := json.MarshalIndent(config, "", "\t")
	return string(compact) + "\n" + string(indented[:9000]) + "\n" + string(flat) + "\n" + string(tabs[:9000])
}

func logs(seed int64) string {
	rng := rand.New(rand.NewSource(seed))
	pick := func(list ...string) string { return list[rng.Intn(len(list))] }
	var b strings.Builder
	for i := range 75 {
		at := time.Date(2026, 3, 17, 2, i%60, rng.Intn(60), rng.Intn(1e9), time.UTC)
		path := pick("/v1/items", "/api/users/login", "/healthz", "/static/app.js", "/search?q=ferry+tickets&page=2")
		fmt.Fprintf(&b, "%s %s api-%d request handled method=GET path=%s status=%d duration=%dms trace=%016x\n", at.Format("2006-01-02T15:04:05.000Z"), pick("INFO", "WARN", "ERROR"), i%5, path, 200+rng.Intn(300), rng.Intn(2000), rng.Uint64())
		fmt.Fprintf(&b, "10.0.%d.%d - - [%s] \"GET %s HTTP/1.1\" %d %d \"https://example.com/\" \"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\"\n", rng.Intn(255), rng.Intn(255), at.Format("02/Jan/2006:15:04:05 -0700"), path, 200+rng.Intn(300), rng.Intn(90000))
		fmt.Fprintf(&b, "Mar 17 02:%02d:%02d web%d sshd[%d]: %s\n", i%60, rng.Intn(60), i%4, rng.Intn(30000), pick("Failed password for invalid user admin from 203.0.113.7 port 50122 ssh2", "Accepted publickey for deploy from 192.0.2.44 port 41022", "Connection closed by authenticating user root 198.51.100.9 port 33210 [preauth]"))
		fmt.Fprintf(&b, `{"time":"%s","level":"%s","msg":"%s","conversation":"discord:81384788765712384/%d","used":%d,"window":128000}`+"\n", at.Format(time.RFC3339Nano), pick("INFO", "DEBUG"), pick("turn answered", "compaction landed", "reply sent"), rng.Int63(), rng.Intn(128000))
		if i%15 == 0 {
			fmt.Fprintf(&b, "panic: runtime error: index out of range [%d] with length %d\n\ngoroutine %d [running]:\nmain.(*server).handle(0xc%09x, {0x%x, 0x%x})\n\t/srv/app/server.go:%d +0x%x\ncreated by main.main in goroutine 1\n\t/srv/app/main.go:41 +0x1a5\n", i, i, rng.Intn(900), rng.Int63n(1<<36), rng.Int31(), rng.Int31(), rng.Intn(400), rng.Intn(4000))
		}
	}
	return b.String()
}

func blobs(t testing.TB, seed int64) string {
	rng := rand.New(rand.NewSource(seed))
	raw := make([]byte, 6000)
	rng.Read(raw)
	var lines strings.Builder
	for encoded := base64.StdEncoding.EncodeToString(raw[3000:]); encoded != ""; {
		n := min(76, len(encoded))
		lines.WriteString(encoded[:n] + "\n")
		encoded = encoded[n:]
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(raw) + "\n" + lines.String() +
		"eyJhbGciOiJIUzI1NiJ9." + base64.RawURLEncoding.EncodeToString(raw[:700]) + "\n" +
		base64.StdEncoding.EncodeToString([]byte(logs(9)[:4000])) + "\n" + base64.StdEncoding.EncodeToString([]byte(fromGo(t, 3000, "src/sort/sort.go")))
}

// ofEachKind returns texts of one kind each, from several sources, at least kindBytes long.
func ofEachKind(t testing.TB) map[string]string {
	texts := map[string]string{
		"English": fromGo(t, 9000, "src/testdata/Isaac.Newton-Opticks.txt") + fromGo(t, 4000, "src/encoding/json/decode.go", "CONTRIBUTING.md") + english + grammars["English"].say(12_000),
		"code": fromGo(t, 26_000, "src/net/http/server.go", "src/encoding/json/encode.go", "src/go/parser/parser.go", "src/time/format.go", "src/database/sql/sql.go", "src/strings/strings.go", "src/runtime/proc.go") +
			fromGo(t, 12_000, "src/runtime/runtime-gdb.py", "lib/wasm/wasm_exec.js", "src/make.bash", "src/runtime/cgo/gcc_util.c"),
		"JSON": jsons(3), "logs": logs(4), "base64": blobs(t, 5), "emoji": grammars["emoji"].say(24_000),
	}
	for _, language := range []string{"Chinese", "Japanese", "Korean", "Russian", "Arabic"} {
		texts[language] = written(t, strings.ToLower(language)) + grammars[language].say(16_000)
	}
	for kind, text := range texts {
		if len(text) < kindBytes {
			t.Fatalf("%s has %d bytes, want %d", kind, len(text), kindBytes)
		}
	}
	return texts
}

const kindBytes = 20_000
