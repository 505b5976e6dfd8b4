package planfile

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/seed-c8cbbb61/cutover/flags"
	"github.com/seed-c8cbbb61/cutover/rollout"
)

//go:embed draft.yaml.tmpl
var draftText string

// Draft writes a plan to begin with: valid, and with comments that say what is
// meant. Of the plan that is known, name, owner, database, endpoints and services
// count; what is missing is an example, and the text names it. The error is a
// [rollout.Invalid] if what is known makes no plan.
func Draft(known *rollout.Plan) ([]byte, error) {
	d := draft{}
	p := d.complete(*known)
	d.Name, d.Owner = inFlow(p.Name), inFlow(p.Owner)
	d.Database.Name, d.Database.Engine = inFlow(p.Database.Name), inFlow(p.Database.Engine)
	d.Source, d.Target = p.Source, p.Target
	d.Source.Host, d.Target.Host = inFlow(p.Source.Host), inFlow(p.Target.Host)
	d.Source.Kind, d.Target.Kind = inFlow(p.Source.Kind), inFlow(p.Target.Kind)
	var names []string
	tasks := 0
	for _, service := range p.Services {
		service.Name = inFlow(service.Name)
		d.Services = append(d.Services, service)
		names = append(names, service.Name)
		tasks += service.Tasks
	}
	d.ServiceNames = strings.Join(names, ", ")
	d.ReadsFlag, d.WritesFlag = inFlow(p.Name+"-reads"), inFlow(p.Name+"-writes")
	d.Stages = draftStages(tasks)
	page, err := template.New("").Parse(draftText)
	if err != nil {
		return nil, fmt.Errorf("drafting a plan: %w", err)
	}
	var text bytes.Buffer
	if err := page.Execute(&text, d); err != nil {
		return nil, fmt.Errorf("drafting a plan: %w", err)
	}
	if _, err := Parse("the draft", text.Bytes()); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// draft is what the text is made of.
type draft struct {
	Examples              string
	Name, Owner           string
	Database              rollout.Database
	Source, Target        rollout.Endpoint
	Services              []rollout.Service
	ServiceNames          string
	ReadsFlag, WritesFlag string
	Stages                []draftStage
}

type draftStage struct {
	Share flags.Share
	Bake  string
	More  string
}

// complete fills in examples, and notes what they are of.
func (d *draft) complete(p rollout.Plan) rollout.Plan {
	var examples []string
	example := func(missing bool, what string, fill func()) {
		if missing {
			examples = append(examples, what)
			fill()
		}
	}
	example(p.Name == "", "rollout", func() { p.Name = "orders-db" })
	example(p.Owner == "", "owner", func() { p.Owner = "team-orders" })
	example(p.Database.Name == "", "database", func() { p.Database = rollout.Database{Name: "orders", Engine: "aurora-mysql"} })
	example(p.Source.Host == "", "source", func() { p.Source = rollout.Endpoint{Host: "orders.example", Port: 3306, Kind: "direct"} })
	example(p.Target.Host == "", "target", func() { p.Target = rollout.Endpoint{Host: "orders-proxy.example", Port: 3306, Kind: "rds-proxy"} })
	example(len(p.Services) == 0, "services", func() { p.Services = []rollout.Service{{Name: "checkout", Tasks: 40, PoolMax: 10}} })
	p.Source.Kind = cmp.Or(p.Source.Kind, "direct")
	d.Examples = strings.Join(examples, ", ")
	return p
}

// draftStages are the usual stages, as far as a share holds about three of so
// many tasks; the first bakes as long as it would anyway, the last a night.
func draftStages(tasks int) []draftStage {
	var stages []draftStage
	for _, rung := range ladder(rollout.SameData, rollout.Reads) {
		stage := draftStage{Share: rung.Share, Bake: rollout.FormatSpan(rung.Bake)}
		switch rung.Share {
		case flags.All:
			stage.More = ", contains: [night], go: manual"
		case 50:
			stage.More = ", approvals: 1"
		default:
		}
		if int(rung.Share)*tasks >= 3*int(flags.All) || rung.Share >= 50 {
			stages = append(stages, stage)
		}
	}
	return stages
}

// inFlow writes a text so that YAML reads it as one, also between brackets.
func inFlow(text string) string {
	list := yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text})
	out, err := yaml.Marshal(&list)
	if err != nil {
		return text // only what cannot be written, and Parse says what is wrong with it
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(out), "["), "]\n")
}
