package main

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// drawn is a line of a picture.
type drawn struct {
	name string
	at   plotter.XYs
}

func plotCurve(c curve, all []measured, file string) error {
	var lines []drawn
	for _, m := range all {
		d := drawn{name: m.line}
		for i, r := range m.results {
			d.at = append(d.at, plotter.XY{X: float64(c.points[i]), Y: float64(r.wall.Nanoseconds())})
		}
		lines = append(lines, d)
	}
	return draw(c.grows, "ns a call", lines, c.points[len(c.points)-1] >= 100, false, file)
}

func plotLoads(loads map[string][]load, file string) error {
	var lines []drawn
	for _, l := range listeners {
		d := drawn{name: l.name}
		for _, at := range loads[l.name] {
			if at.offered > 0 && at.achieved > 0 {
				d.at = append(d.at, plotter.XY{X: at.achieved, Y: 100 * at.cores})
			}
		}
		lines = append(lines, d)
	}
	return draw("events a second", "% of a processor", lines, true, true, file)
}

// draw writes a picture; logX and logY are for what grows by powers of ten.
func draw(x, y string, lines []drawn, logX, logY bool, file string) error {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.Legend.Top, p.Legend.Left = true, true
	if logX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	highest := 0.0
	for i, l := range lines {
		line, points, err := plotter.NewLinePoints(l.at)
		if err != nil {
			return err
		}
		line.Color, points.Color, points.Shape = plotutil.Color(i), plotutil.Color(i), plotutil.Shape(i)
		p.Add(line, points)
		p.Legend.Add(l.name, line, points)
		for _, at := range l.at {
			highest = max(highest, at.Y)
		}
	}
	if logY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		p.Y.Min = math.Max(p.Y.Min, 0.01)
	} else {
		p.Y.Min, p.Y.Max = 0, 1.3*highest // room for the legend
	}
	return p.Save(18*vg.Centimeter, 10*vg.Centimeter, file)
}
