import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Figure, lineOf, none } from './figures.ts'
import { type FigureRecord, Records } from './records.ts'

const ratio: Figure = { what: 'ratio', target: ['>=', 0.6], digits: 2 }

test('a figure is the median of its rounds, with their spread', () => {
  const line = lineOf({ what: 'time', unit: ' ms', target: ['<', 20] }, [10, 30, 12], false)
  assert.deepEqual(line, { name: 'time', target: '< 20 ms', reached: '12 ms (10 to 30)', passed: true })
})

test('a short run judges what must be 0, and figures that say so', () => {
  assert.equal(lineOf({ ...ratio, inShort: true }, 0.5, true).passed, false)
  assert.equal(lineOf(ratio, 0.5, true).passed, null)
  assert.equal(lineOf(ratio, 0.5, false).passed, false)
  assert.deepEqual(lineOf(none('lost'), [0, 1, 2], true), {
    name: 'lost',
    target: '= 0',
    reached: '3 (0 to 2)',
    passed: false,
  })
})

test('a figure that could not be measured is not judged', () => {
  assert.deepEqual(lineOf(ratio, null, false), {
    name: 'ratio',
    target: '>= 0.6',
    reached: 'not measured',
    passed: null,
  })
})

test('the newest record of a figure counts, and one without a record is left out', () => {
  const recorded = (commit: string, values: number[]): FigureRecord => {
    return {
      date: '2026-11-30',
      commit,
      machine: '2 x CPU',
      command: 'bench staff',
      scenario: 'list',
      figure: 'ratio',
      values,
    }
  }
  const text = [recorded('aaaaaaa', [0.5]), recorded('bbbbbbb', [0.7])].map((one) => JSON.stringify(one)).join('\n')
  const lines = new Records(text).linesOf('bench staff', { name: 'list', figures: { ratio, lost: none('lost') } })
  assert.deepEqual(lines, [{ name: 'ratio', target: '>= 0.6', reached: '0.70', passed: true, commit: 'bbbbbbb' }])
})
