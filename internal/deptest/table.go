package deptest

// Floors is the table of this module. docs/architecture.md tells it in prose.
var Floors = Table{
	Floors: []Floor{
		{
			Package: "match", Level: 0,
			Why:     "rules are written by people and asked by everybody; they know requests only as method, host, path and headers",
			NoClock: "a rule means the same requests at any time",
		},
		{
			Package: "priority", Level: 0, Beside: []string{"match"},
			Why:     "a class is a word that every other package uses",
			NoClock: "the moment is stamped on the request",
		},
		{
			Package: "limit", Level: 0,
			Why:     "arithmetic that any store runs, in Go or in a script of its own, and that is tested as functions",
			NoClock: "time is an argument",
			Bans: []Ban{
				{"sync", "who stores the state guards it"},
				{"context", "arithmetic neither waits nor is cancelled"},
				{"io", "arithmetic reads and writes nothing"},
				{"net", "arithmetic reads and writes nothing"},
				{"os", "arithmetic reads and writes nothing"},
				{"log", "arithmetic has nothing to tell an operator"},
			},
		},
		{Package: "internal/line", Level: 0, Why: "standing in line is the same for whatever is waited for"},
		{
			Package: "store", Level: 1,
			Why: "what is true of any store lives here once; a driver below it or a stage beside it would make it true of one",
		},
		{
			Package: "store/storetest", Level: 2, Use: TestsOnly,
			Why: "it judges any driver by the contract, so it may know the contract alone",
		},
		{
			Package: "pipeline", Level: 2,
			Why: "it runs any stage on any store behind any edge, so it may know none of them",
		},
		{
			Package: "pipeline/stagetest", Level: 3, Use: TestsOnly,
			Why: "it judges any stage by the contract, so it may know the contract alone",
		},
		{
			Package: "store/memstore", Level: 3,
			Why:  driverWhy,
			Bans: []Ban{{"github.com/plimsoll-go/plimsoll/pipeline", "a driver keeps state; what a refusal does to a request is not its business"}},
		},
		{
			Package: "store/redisstore", Level: 3,
			Why:  driverWhy,
			Bans: []Ban{{"github.com/plimsoll-go/plimsoll/pipeline", "a driver keeps state; what a refusal does to a request is not its business"}},
		},
		{
			Package: "stages/*", Level: 3,
			Why: "a stage answers for itself; order, mode, faults and unwinding are the pipeline's, wiring is the configuration's",
		},
		{
			Package: "identity", Level: 3,
			Why: "who sends a request is found out in one place for every edge",
		},
		{
			Package: "middleware/*", Level: 3, Beside: []string{"identity"},
			Why: "an edge turns requests into pipeline requests and decisions into answers; it must work with any plan",
		},
		{
			Package: "telemetry", Level: 3,
			Why: "it observes what the pipeline tells every observer; asking a stage would make figures depend on the plan",
		},
		{
			Package: "telemetry/otlp", Level: 4,
			Why: "who scrapes, or has an SDK of its own, links no exporter",
		},
		{
			Package: "observability", Level: 4,
			Why:  "it is words about metrics: of a process it knows the names alone",
			Bans: []Ban{{"github.com/plimsoll-go/plimsoll/pipeline", "what it says must be true of any plan"}, {"net", "it asks nobody"}},
		},
		{
			Package: "insight", Level: 3,
			Why: "it remembers what the pipeline tells every observer, for any plan; who asks knows the plan",
		},
		{
			Package: "fleet", Level: 3,
			Why: "membership and the heartbeat are the same whatever the stages do with them",
		},
		{
			Package: "control", Level: 4,
			Why:  "the control state is data; the configuration compiles it into plans",
			Bans: []Ban{{"net/http", "the API over it is admin's; a change must be possible without a server"}},
		},
		{
			Package: "config", Level: 4,
			Why: "it builds plans and pipelines; whoever serves them gets them ready made",
		},
		{
			Package: "outbound", Level: 4,
			Why:  "it is the client's side: it uses one limiter, and nothing that serves, decides in a pipeline or reads files",
			Bans: []Ban{{"github.com/plimsoll-go/plimsoll/pipeline", "an outgoing call is no request of ours to admit or shed"}},
		},
		{
			Package: "admin", Level: 5,
			Why: "it shows and changes what the control state and the pipeline offer, for any plan",
		},
		{
			Package: "admin/dump", Level: 5,
			Why: "it shows in text what the pipeline and its figures tell, for any plan",
		},
		{
			Package: "proxy", Level: 5,
			Why: "a server is an edge with a socket; policy comes to it as a pipeline",
		},
		{
			Package: "decision", Level: 5,
			Why: "a server is an edge with a socket; policy comes to it as a pipeline",
		},
		{
			Package: "sim", Level: 5,
			Why:  "a simulated fleet runs the real stages, and nothing that serves; its clock is that of the bubble in which it plays everything",
			Bans: []Ban{{"net", "its network is simulated"}, {"os", "a scenario depends on nothing of the machine"}},
		},
		{Package: "internal/redistest", Level: 0, Why: "it starts servers for whoever needs one, and knows nothing of what is tried on them"},
		{Package: "internal/otlptest", Level: 0, Why: "it receives what is pushed, from whoever pushes, and knows the protocol alone"},
		{Package: "internal/faults", Level: 5, Why: "it wires stages on a real store, as a service would, and breaks the store"},
		{Package: "internal/algorithms", Level: 4, Why: "draws and measures what the embedded store and the algorithms do, and knows no request"},
		{Package: "internal/faults/tour", Level: 6, Use: Nowhere, Why: "measures and writes the table"},
		{Package: "internal/load", Level: 5, Why: "the load generator knows the service only from outside"},
		{Package: "internal/process", Level: 6, Why: "the command's server as a value, so that the demonstration and the tests run the same one"},
		{Package: "internal/operator", Level: 6, Why: "the command's client and its pictures, in a package of their own so that they can be tested"},
		{Package: "internal/demo", Level: 6, Beside: []string{"internal/process"}, Why: "part of the command, in a package of its own so that it can be tested"},
		{Package: "internal/observe", Level: 6, Beside: []string{"internal/process"}, Why: "whole processes under load, and the servers that watch them, for tests, pictures and an example"},
		{Package: "cmd/*", Level: 6, Use: Nowhere, Beside: []string{"internal/demo", "internal/operator", "internal/process"}, Why: "wiring only"},
		{Package: "examples/*/*", Level: 5, Why: "a sample service, which the demo starts too, knows nothing of what protects it"},
		{
			Package: "examples/observability", Level: 6, Use: Nowhere, Beside: []string{"internal/observe"},
			Why: "it shows what operators see, and starts whole processes for that; the others are what a reader would write",
		},
		{Package: "examples/*", Level: 6, Use: Nowhere, Why: "what a reader would write: it uses what anybody can use"},
		{Package: "internal/deptest", Level: 5, Why: "judges the tree from outside"},
		{Package: "internal/mutants", Level: 6, Use: Nowhere, Why: "breaks the tree from outside"},
		{Package: "internal/path", Level: 6, Use: Nowhere, Why: "reads the tree from outside"},
	},
	Exclusive: []Exclusive{
		{
			Import: "github.com/redis/go-redis", Only: []string{"store/redisstore", "internal/redistest"},
			Why: "a driver is the only user of its client; what starts servers has commands for them",
		},
		{
			Import: "github.com/prometheus/", Only: []string{"telemetry", "admin", "cmd/*"},
			Why: "stages know no metrics library: the pipeline calls one small observer",
		},
		{
			Import: "go.opentelemetry.io/", Only: []string{"telemetry", "telemetry/otlp", "internal/otlptest", "cmd/*"},
			Why: "stages know no metrics library: the pipeline calls one small observer",
		},
		{
			Import: "google.golang.org/grpc", Only: []string{"middleware/grpcmw", "decision", "internal/otlptest", "examples/*", "cmd/*"},
			Why: "whoever protects an HTTP service does not link gRPC",
		},
		{
			Import: "net/http", Only: []string{
				"identity", "middleware/*", "telemetry", "config", "outbound", "admin", "admin/dump", "proxy", "decision",
				"internal/load", "internal/operator", "internal/otlptest", "internal/process", "internal/demo", "internal/observe",
				"cmd/*", "examples/*", "examples/*/*",
			},
			Why: "what decides must serve any protocol",
		},
		{
			Import: "go.yaml.in/yaml", Only: []string{"config", "cmd/*"},
			Why: "files are read in one place; the command prints some",
		},
		{
			Import: "github.com/spf13/cobra", Only: []string{"cmd/*"},
			Why: "a library has no command line",
		},
		{
			Import: "testing", Only: []string{"store/storetest", "pipeline/stagetest", "internal/deptest", "sim"},
			Why: "it would link into every service; sim needs it for virtual time, and only the command links sim",
		},
		{
			Import: "pgregory.net/rapid", Only: []string{"store/storetest", "pipeline/stagetest"},
			Why: "it would link into every service",
		},
	},
}

const driverWhy = "one driver is linked without the others, and works for any stage"
