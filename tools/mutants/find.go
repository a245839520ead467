package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// The kinds of mutants.
const (
	conditionTrue  = "condition true"
	conditionFalse = "condition false"
	clauseDropped  = "clause dropped"
	errorSwallowed = "error swallowed"
	statementGone  = "statement removed"
	deferGone      = "defer removed"
	boolFlipped    = "bool flipped"
	boundaryMoved  = "boundary moved"
	entryMisspelt  = "entry misspelt"
)

// mutant is one small change to the code.
type mutant struct {
	id         int // what the environment variable is set to
	file       string
	line, col  int
	lastLine   int
	kind, text string
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s", m.file, m.line, m.col, m.kind, m.text)
}

// edit puts text into a file, for some mutants.
type edit struct {
	offset  int
	text    string
	closes  bool // it stands behind what it changes, not before
	order   int  // of two edits around the same text, the one with the lower is the outer one
	mutants []int
}

// finder finds the mutants of a package.
type finder struct {
	fset    *token.FileSet
	info    *types.Info
	mutants []mutant

	// Of the file that is looked at:
	name   string
	source []byte
	edits  []edit
}

// find finds the mutants of one file, and how to make them.
func (f *finder) find(name string, source []byte, file *ast.File) []edit {
	f.name, f.source, f.edits = name, source, nil
	f.walk(file, nil)
	return f.edits
}

// walk looks at everything in a node of a function.
func (f *finder) walk(root ast.Node, function *types.Signature) {
	ast.Inspect(root, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST && n.Tok != token.TYPE && n.Tok != token.IMPORT
		case *ast.FuncDecl:
			if n.Body != nil {
				f.walk(n.Body, f.info.Defs[n.Name].Type().(*types.Signature))
			}
			return false
		case *ast.FuncLit:
			f.walk(n.Body, f.info.TypeOf(n).(*types.Signature))
			return false
		case *ast.BlockStmt:
			f.statements(n.List, function)
		case *ast.CaseClause:
			f.statements(n.Body, function)
		case *ast.CommClause:
			f.statements(n.Body, function)
		case *ast.IfStmt:
			f.condition(n.Cond)
		case *ast.ForStmt:
			f.loop(n.Cond)
		case *ast.SwitchStmt:
			f.cases(n)
		case *ast.BinaryExpr:
			f.binary(n)
		case *ast.CompositeLit:
			f.entries(n)
		}
		return true
	})
}

func (f *finder) statements(list []ast.Stmt, function *types.Signature) {
	for _, statement := range list {
		switch s := statement.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && f.text(call.Fun) == "panic" {
				continue // without it, the function may have no end
			}
			f.remove(s, statementGone)
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				f.remove(s, statementGone)
			}
		case *ast.IncDecStmt, *ast.SendStmt:
			f.remove(s, statementGone)
		case *ast.DeferStmt:
			f.remove(s, deferGone)
		case *ast.ReturnStmt:
			f.returned(s, function.Results())
		}
	}
}

func (f *finder) remove(s ast.Stmt, kind string) {
	id := f.add(s, kind)
	f.around(s, fmt.Sprintf("if !%s(%d) { ", helper, id), " }", id)
}

// condition makes a condition true, and false, whatever it says.
func (f *finder) condition(x ast.Expr) {
	if f.isConstant(x) {
		return
	}
	yes, no := f.add(x, conditionTrue), f.add(x, conditionFalse)
	f.around(x, fmt.Sprintf("(%s(%d) || !%s(%d) && (", helper, yes, helper, no), "))", yes, no)
}

// loop makes the condition of a loop false. If it were true, few loops would end.
func (f *finder) loop(x ast.Expr) {
	if x != nil && !f.isConstant(x) {
		id := f.add(x, conditionFalse)
		f.around(x, fmt.Sprintf("(!%s(%d) && (", helper, id), "))", id)
	}
}

func (f *finder) cases(s *ast.SwitchStmt) {
	for _, clause := range s.Body.List {
		for _, x := range clause.(*ast.CaseClause).List {
			if s.Tag == nil {
				f.condition(x)
			} else if isString(f.info.TypeOf(s.Tag)) {
				f.entry(x)
			}
		}
	}
}

var boundaries = map[token.Token]string{
	token.LSS: " || %s(%d) && (%s) == (%s))", token.GTR: " || %s(%d) && (%s) == (%s))",
	token.LEQ: " && !(%s(%d) && (%s) == (%s)))", token.GEQ: " && !(%s(%d) && (%s) == (%s)))",
}

// binary drops each clause of && and ||, and moves the boundary of a comparison by one.
func (f *finder) binary(n *ast.BinaryExpr) {
	if f.isConstant(n) {
		return
	}
	switch n.Op {
	case token.LAND, token.LOR:
		for _, clause := range []ast.Expr{n.X, n.Y} {
			id := f.add(clause, clauseDropped)
			if n.Op == token.LAND {
				f.around(clause, fmt.Sprintf("(%s(%d) || (", helper, id), "))", id)
			} else {
				f.around(clause, fmt.Sprintf("(!%s(%d) && (", helper, id), "))", id)
			}
		}
	case token.LSS, token.GTR, token.LEQ, token.GEQ:
		id := f.add(n, boundaryMoved)
		f.around(n, "(", fmt.Sprintf(boundaries[n.Op], helper, id, f.text(n.X), f.text(n.Y)), id)
	}
}

// returned mutates what a function returns: a bool, and the error that comes last.
func (f *finder) returned(s *ast.ReturnStmt, results *types.Tuple) {
	if results.Len() > 0 && len(s.Results) > 0 && types.Identical(results.At(results.Len()-1).Type(), types.Universe.Lookup("error").Type()) {
		f.swallow(s, results.Len())
	}
	if len(s.Results) != results.Len() {
		return
	}
	for i, x := range s.Results {
		switch {
		case !types.Identical(results.At(i).Type(), types.Typ[types.Bool]):
		case f.isConstant(x):
			id := f.add(x, boolFlipped)
			f.around(x, fmt.Sprintf("(%s(%d) != (", helper, id), "))", id)
		default:
			f.condition(x)
		}
	}
}

// swallow has the last result, an error, computed and then replaced by nil.
func (f *finder) swallow(s *ast.ReturnStmt, results int) {
	last := s.Results[len(s.Results)-1]
	if f.text(last) == "nil" {
		return
	}
	id := f.add(s, errorSwallowed)
	var others, call string
	switch len(s.Results) {
	case results:
		for _, x := range s.Results[:results-1] {
			others += f.text(x) + ", "
		}
		call = "_ = " + f.text(last)
	default: // one call has all of them
		for i := range results - 1 {
			others += fmt.Sprintf("%s%d, ", helper, i)
		}
		call = others + "_ := " + f.text(last)
	}
	where := f.fset.Position(s.Pos())
	before := fmt.Sprintf("if %s(%d) { %s; return %snil }; ", helper, id, call, others)
	if strings.Contains(before, "\n") {
		before += fmt.Sprintf("/*line %s:%d:%d*/", f.name, where.Line, where.Column)
	}
	f.around(s, before, "", id)
}

// entries misspells each text of a table: the keys of a map, the elements of a list.
func (f *finder) entries(n *ast.CompositeLit) {
	switch of := f.info.TypeOf(n).Underlying().(type) {
	case *types.Map:
		for _, element := range n.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok && isString(of.Key()) {
				f.entry(pair.Key)
			}
		}
	case *types.Slice:
		for _, element := range n.Elts {
			if isString(of.Elem()) {
				f.entry(element)
			}
		}
	}
}

func (f *finder) entry(x ast.Expr) {
	if text, ok := x.(*ast.BasicLit); ok && text.Kind == token.STRING {
		id := f.add(x, entryMisspelt)
		f.around(x, fmt.Sprintf("%sEntry(%d, ", helper, id), ")", id)
	}
}

// add notes a mutant and gives it a number.
func (f *finder) add(node ast.Node, kind string) int {
	from, to := f.fset.Position(node.Pos()), f.fset.Position(node.End())
	text := strings.Join(strings.Fields(f.text(node)), " ")
	if runes := []rune(text); len(runes) > 100 {
		text = string(runes[:99]) + "…"
	}
	id := len(f.mutants) + 1
	f.mutants = append(f.mutants, mutant{id, f.name, from.Line, from.Column, to.Line, kind, text})
	return id
}

// around puts text before and behind a node.
func (f *finder) around(node ast.Node, before, behind string, mutants ...int) {
	order := len(f.edits)
	f.edits = append(f.edits,
		edit{f.fset.Position(node.Pos()).Offset, before, false, order, mutants},
		edit{f.fset.Position(node.End()).Offset, behind, true, order, mutants})
}

func (f *finder) text(node ast.Node) string {
	return string(f.source[f.fset.Position(node.Pos()).Offset:f.fset.Position(node.End()).Offset])
}

func (f *finder) isConstant(x ast.Expr) bool { return f.info.Types[x].Value != nil }

func isString(t types.Type) bool { return t != nil && types.Identical(t, types.Typ[types.String]) }

// apply makes a file with the edits, but those for mutants that are left out.
func apply(source []byte, edits []edit, leaveOut map[int]bool) []byte {
	edits = slices.DeleteFunc(slices.Clone(edits), func(e edit) bool {
		return slices.ContainsFunc(e.mutants, func(id int) bool { return leaveOut[id] })
	})
	slices.SortStableFunc(edits, func(a, b edit) int {
		switch {
		case a.offset != b.offset:
			return cmp.Compare(a.offset, b.offset)
		case a.closes != b.closes && a.closes:
			return -1
		case a.closes != b.closes:
			return 1
		case a.closes:
			return cmp.Compare(b.order, a.order)
		default:
			return cmp.Compare(a.order, b.order)
		}
	})
	var changed []byte
	done := 0
	for _, e := range edits {
		changed = append(append(changed, source[done:e.offset]...), e.text...)
		done = e.offset
	}
	return append(changed, source[done:]...)
}
