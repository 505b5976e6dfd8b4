package planfile

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/seed-c8cbbb61/cutover/gates"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

// Format writes a plan as YAML, every field spelled out. The text of a valid
// plan parses back to an equal one.
func Format(p *rollout.Plan) ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(written(p)); err != nil {
		return nil, fmt.Errorf("formatting plan %s: %w", p.Name, err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("formatting plan %s: %w", p.Name, err)
	}
	return text.Bytes(), nil
}

// The types below are the file's fields in the order in which they are written.
type (
	planText struct {
		Rollout  string                        `yaml:"rollout"`
		Owner    string                        `yaml:"owner"`
		Reason   string                        `yaml:"reason,omitempty"`
		Kind     rollout.PlanKind              `yaml:"kind"`
		Database inline[databaseText]          `yaml:"database"`
		Source   inline[endpointText]          `yaml:"source"`
		Target   inline[endpointText]          `yaml:"target"`
		Services []inline[serviceText]         `yaml:"services"`
		Lanes    []laneText                    `yaml:"lanes"`
		Windows  map[string]inline[windowText] `yaml:"windows,omitempty"`
		Soak     inline[soakText]              `yaml:"soak"`
		Gates    []gateText                    `yaml:"gates"`
		Guard    inline[guardText]             `yaml:"guard"`
		OnRaise  rollout.OnRaise               `yaml:"on_raise"`
		Converge inline[convergeText]          `yaml:"converge"`
		Patience string                        `yaml:"patience"`
		Grace    string                        `yaml:"grace"`
		Recovery string                        `yaml:"recovery"`
	}

	databaseText struct {
		Name           string `yaml:"name"`
		Engine         string `yaml:"engine"`
		MaxConnections int    `yaml:"max_connections,omitempty"`
		Region         string `yaml:"region,omitempty"`
		Account        string `yaml:"account,omitempty"`
	}

	endpointText struct {
		Host     string            `yaml:"host"`
		Port     int               `yaml:"port"`
		Kind     string            `yaml:"kind"`
		Settings map[string]string `yaml:"settings,omitempty"`
	}

	serviceText struct {
		Name          string `yaml:"name"`
		Tasks         int    `yaml:"tasks"`
		PoolMax       int    `yaml:"pool_max"`
		SocketTimeout string `yaml:"socket_timeout,omitempty"`
		PoolLifetime  string `yaml:"pool_lifetime,omitempty"`
	}

	laneText struct {
		Name     string              `yaml:"name"`
		Class    rollout.Class       `yaml:"class"`
		Services []string            `yaml:"services,flow"`
		Flag     inline[flagText]    `yaml:"flag"`
		Stages   []inline[stageText] `yaml:"stages"`
	}

	flagText struct {
		Key       string `yaml:"key"`
		Namespace string `yaml:"namespace"`
	}

	stageText struct {
		Share     string   `yaml:"share"`
		Bake      string   `yaml:"bake"`
		MinTasks  int      `yaml:"min_tasks"`
		Contains  []string `yaml:"contains,omitempty"`
		Approvals int      `yaml:"approvals,omitempty"`
		Go        string   `yaml:"go,omitempty"`
	}

	windowText struct {
		Minute   string   `yaml:"minute,omitempty"`
		Time     string   `yaml:"time,omitempty"`
		Zone     string   `yaml:"zone,omitempty"`
		Weekdays []string `yaml:"weekdays,omitempty"`
	}

	soakText struct {
		For      string   `yaml:"for"`
		Contains []string `yaml:"contains,omitempty"`
	}

	gateText struct {
		Name     string             `yaml:"name"`
		Source   string             `yaml:"source"`
		Metric   inline[metricText] `yaml:"metric"`
		Limit    inline[limitText]  `yaml:"limit"`
		Absent   gates.Absent       `yaml:"absent"`
		OnBreach gates.OnBreach     `yaml:"on_breach"`
		Scope    gates.Scope        `yaml:"scope"`
		Lanes    []string           `yaml:"lanes,flow,omitempty"`
		Delay    string             `yaml:"delay"`
	}

	metricText struct {
		Account    string            `yaml:"account,omitempty"`
		Region     string            `yaml:"region,omitempty"`
		Namespace  string            `yaml:"namespace,omitempty"`
		Name       string            `yaml:"name"`
		Dimensions map[string]string `yaml:"dimensions,omitempty"`
		Stat       string            `yaml:"stat,omitempty"`
		Period     string            `yaml:"period"`
		Unit       string            `yaml:"unit,omitempty"`
		Per        string            `yaml:"per,omitempty"`
		Lane       string            `yaml:"lane,omitempty"`
		Target     bool              `yaml:"target,omitempty"`
	}

	limitText struct {
		Above *yaml.Node `yaml:"above,omitempty"`
		Below *yaml.Node `yaml:"below,omitempty"`
		For   string     `yaml:"for"`
	}

	guardText struct {
		Every string `yaml:"every"`
	}

	convergeText struct {
		Within       string `yaml:"within"`
		MinReporting string `yaml:"min_reporting"`
		Interval     string `yaml:"interval"`
	}
)

// inline writes a value on one line.
type inline[T any] struct{ value T }

// MarshalYAML returns the value in flow style.
func (i inline[T]) MarshalYAML() (any, error) {
	var n yaml.Node
	if err := n.Encode(i.value); err != nil {
		return nil, err
	}
	n.Style = yaml.FlowStyle
	return &n, nil
}

func written(p *rollout.Plan) planText {
	text := planText{
		Rollout:  p.Name,
		Owner:    p.Owner,
		Reason:   p.Reason,
		Kind:     p.Kind,
		Database: inline[databaseText]{databaseText(p.Database)},
		Source:   inline[endpointText]{endpointText(p.Source)},
		Target:   inline[endpointText]{endpointText(p.Target)},
		Soak:     inline[soakText]{soakText{For: rollout.FormatSpan(p.Soak.For), Contains: p.Soak.Contains}},
		Guard:    inline[guardText]{guardText{rollout.FormatSpan(p.Guard.Every)}},
		OnRaise:  p.OnRaise,
		Converge: inline[convergeText]{convergeText{
			Within:       rollout.FormatSpan(p.Converge.Within),
			MinReporting: fmt.Sprintf("%d%%", p.Converge.MinReporting),
			Interval:     rollout.FormatSpan(p.Converge.Interval),
		}},
		Patience: rollout.FormatSpan(p.Patience),
		Grace:    rollout.FormatSpan(p.Grace),
		Recovery: rollout.FormatSpan(p.Recovery),
		Windows:  make(map[string]inline[windowText], len(p.Windows)),
	}
	for _, service := range p.Services {
		text.Services = append(text.Services, inline[serviceText]{writtenService(service)})
	}
	for _, lane := range p.Lanes {
		text.Lanes = append(text.Lanes, writtenLane(lane))
	}
	for name, w := range p.Windows {
		text.Windows[name] = inline[windowText]{writtenWindow(w)}
	}
	for i := range p.Gates {
		text.Gates = append(text.Gates, writtenGate(&p.Gates[i]))
	}
	return text
}

func writtenService(s rollout.Service) serviceText {
	text := serviceText{Name: s.Name, Tasks: s.Tasks, PoolMax: s.PoolMax}
	if s.SocketTimeout != 0 {
		text.SocketTimeout = rollout.FormatSpan(s.SocketTimeout)
	}
	if s.PoolLifetime != 0 {
		text.PoolLifetime = rollout.FormatSpan(s.PoolLifetime)
	}
	return text
}

func writtenLane(lane rollout.LanePlan) laneText {
	text := laneText{
		Name:     lane.Name,
		Class:    lane.Class,
		Services: lane.Services,
		Flag:     inline[flagText]{flagText{Key: lane.Flag.Name, Namespace: lane.Flag.Namespace}},
	}
	for _, s := range lane.Stages {
		stage := stageText{
			Share: s.Share.String(), Bake: rollout.FormatSpan(s.Bake), MinTasks: s.MinTasks,
			Contains: s.Contains, Approvals: s.Approvals,
		}
		if s.Manual {
			stage.Go = "manual"
		}
		text.Stages = append(text.Stages, inline[stageText]{stage})
	}
	return text
}

func writtenWindow(w rollout.Window) windowText {
	text := windowText{Zone: w.Zone}
	if w.Daily {
		text.Time = formatTimes(w)
	} else {
		text.Minute = formatMinutes(w)
	}
	for _, day := range w.Weekdays {
		text.Weekdays = append(text.Weekdays, formatWeekday(day))
	}
	return text
}

func writtenGate(g *gates.Gate) gateText {
	m := g.Metric
	return gateText{
		Name:   g.Name,
		Source: g.Source,
		Metric: inline[metricText]{metricText{
			Account: m.Account, Region: m.Region, Namespace: m.Namespace, Name: m.Name, Dimensions: m.Dimensions,
			Stat: m.Stat, Period: rollout.FormatSpan(m.Period), Unit: m.Unit, Per: m.Per, Lane: m.Lane, Target: m.Target,
		}},
		Limit: inline[limitText]{limitText{
			Above: formatEdge(g.Limit.Above, m.Unit),
			Below: formatEdge(g.Limit.Below, m.Unit),
			For:   fmt.Sprintf("%d of %d", g.Limit.M, g.Limit.N),
		}},
		Absent:   g.Absent,
		OnBreach: g.OnBreach,
		Scope:    g.Scope,
		Lanes:    g.Lanes,
		Delay:    rollout.FormatSpan(g.Delay),
	}
}
