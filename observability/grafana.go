package observability

import (
	"encoding/json"
	"fmt"
)

// object is a piece of JSON; encoding sorts its keys, so that the same
// dashboards make the same bytes.
type object = map[string]any

var source = object{"type": "prometheus", "uid": "${datasource}"}

// Grafana is the dashboard in the format that Grafana imports, from version 10
// on.
func (d *Dashboard) Grafana() []byte {
	text, err := json.MarshalIndent(object{
		"uid": d.UID, "title": d.Title, "description": d.About, "tags": []string{"plimsoll"},
		"schemaVersion": 39, "version": 1, "editable": true, "graphTooltip": 1, "refresh": "10s", "timezone": "browser",
		"time":        object{"from": "now-30m", "to": "now"},
		"annotations": object{"list": []any{changesOfConfiguration}},
		"links": []object{
			{"type": "dashboards", "title": "Plimsoll", "tags": []string{"plimsoll"}, "includeVars": true, "keepTime": true},
			{"type": "link", "title": "What to do at an alert", "url": repository + "docs/alerts.md", "targetBlank": true},
		},
		"templating": object{"list": variables},
		"panels":     d.panels(),
	}, "", "  ")
	if err != nil {
		panic("observability: a dashboard does not encode: " + err.Error()) // it is made of text and finite numbers
	}
	return append(text, '\n')
}

var variables = []object{
	{"type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus"},
	variable("job", "label_values(plimsoll_build_info, job)"),
	variable("instance", `label_values(plimsoll_build_info{job=~"$job"}, instance)`),
}

// variable is a choice of several values of a label, at first all.
func variable(name, query string) object {
	return object{
		"type": "query", "name": name, "label": name, "datasource": source,
		"query": object{"query": query, "refId": name}, "definition": query,
		"multi": true, "includeAll": true, "allValue": ".*", "refresh": 2, "sort": 1,
		"current": object{"text": "All", "value": []string{"$__all"}},
	}
}

// changesOfConfiguration draws a line where a worker applied another file.
var changesOfConfiguration = object{
	"name": "configuration applied", "enable": true, "datasource": source, "iconColor": "blue", "titleFormat": "{{instance}}",
	"expr": `changes(plimsoll_config_generation{job=~"$job", instance=~"$instance"}[1m]) > 0`,
}

func (d *Dashboard) panels() (list []object) {
	id, top := 0, 0
	for _, row := range d.Rows {
		id++
		list = append(list, object{"type": "row", "id": id, "title": row.Title, "collapsed": false, "gridPos": place(24, 1, 0, top)})
		top++
		across := row.Across()
		wide := 24 / across
		for i := range row.Panels {
			id++
			left := i % across * wide
			if i > 0 && left == 0 {
				top += 8
			}
			list = append(list, row.Panels[i].grafana(id, place(wide, 8, left, top)))
		}
		top += 8
	}
	return list
}

func place(w, h, x, y int) object { return object{"w": w, "h": h, "x": x, "y": y} }

func (p *Panel) grafana(id int, at object) object {
	targets := make([]object, len(p.Queries))
	for i, query := range p.Queries {
		targets[i] = object{
			"refId": string(rune('A' + i)), "datasource": source, "expr": query.Expr, "legendFormat": query.Legend,
			"instant": p.Kind == Number, "range": p.Kind != Number,
		}
	}
	defaults := object{"unit": p.Unit.grafana(), "custom": p.custom(), "thresholds": p.thresholds()}
	for name, bound := range map[string]*float64{"min": p.Min, "max": p.Max} {
		if bound != nil {
			defaults[name] = *bound
		}
	}
	if p.Kind == Number || p.Kind == States {
		colour := "thresholds"
		if len(p.Steps) == 0 {
			colour = "palette-classic"
		}
		defaults["color"] = object{"mode": colour}
	}
	return object{
		"id": id, "type": [...]string{"timeseries", "timeseries", "stat", "state-timeline"}[p.Kind], "title": p.Title, "description": p.About,
		"datasource": source, "gridPos": at, "targets": targets, "options": p.options(),
		"fieldConfig": object{"defaults": defaults, "overrides": []object{}},
	}
}

func (u Unit) grafana() string {
	return [...]string{Plain: "short", PerSecond: "reqps", Seconds: "s", Share: "percentunit", Bytes: "bytes"}[u]
}

func (p *Panel) thresholds() object {
	steps := []object{{"color": "green", "value": nil}}
	if len(p.Steps) > 0 {
		steps[0]["color"] = p.Steps[0].Colour
		for _, s := range p.Steps[1:] {
			steps = append(steps, object{"color": s.Colour, "value": s.From})
		}
	}
	return object{"mode": "absolute", "steps": steps}
}

// custom is how the lines look.
func (p *Panel) custom() object {
	switch p.Kind {
	case States:
		return object{"fillOpacity": 70, "lineWidth": 0}
	case Number:
		return object{}
	case Stacked:
		return object{"lineWidth": 1, "fillOpacity": 40, "showPoints": "never", "stacking": object{"mode": "normal"}}
	case Lines:
	}
	style := "off"
	if len(p.Steps) > 0 {
		style = "line"
	}
	return object{"lineWidth": 1, "fillOpacity": 5, "showPoints": "never", "thresholdsStyle": object{"mode": style}}
}

func (p *Panel) options() object {
	switch p.Kind {
	case Number:
		return object{"reduceOptions": object{"calcs": []string{"lastNotNull"}}, "textMode": "value_and_name", "colorMode": "value", "graphMode": "none"}
	case States:
		return object{"showValue": "auto", "mergeValues": true, "legend": object{"showLegend": false}}
	case Lines, Stacked:
	}
	return object{"legend": object{"displayMode": "list", "placement": "bottom", "showLegend": true}, "tooltip": object{"mode": "multi", "sort": "desc"}}
}

// File is the name of the dashboard's file.
func (d *Dashboard) File() string { return fmt.Sprintf("plimsoll-%s.json", d.Name) }
