import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

// AGENTS.md and DECISIONS.md must stay short. The latter has sections with entries: a numbered title that names the
// component, and a few lines.

const LINES_MAX = 1_000
const MAP_LINES_MAX = 150
const ENTRY_LINES_MAX = 5
const WIDTH_MAX = 130

const read = (name: string) => readFileSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), 'utf8')

const TEXT = read('DECISIONS.md')
const [INDEX = '', ...ROOMS] = TEXT.split(/^(?=## (?!Index))/m)
const ENTRIES = ROOMS.flatMap((room) => room.split(/^(?=### )/m).slice(1))

const titleOf = (part: string) => /^#+ (.*)$/m.exec(part)?.[1] ?? ''
/** Returns the anchor of a title in links on GitHub. */
const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

/** Returns the numbers that an entry names as replaced. */
const replacedBy = (entry: string) =>
  [...entry.matchAll(/Replaces ([\d, to]+)\./g)].flatMap(([, list = '']) => {
    const [, first, last] = /^(\d+) to (\d+)$/.exec(list) ?? []
    if (first === undefined) return list.split(', ').map(Number)
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i)
  })

test('each decision has a unique number and a title that names a component', () => {
  const titles = ENTRIES.map(titleOf)
  assert.deepEqual(
    titles.filter((title) => !/^\d+\. [^:]+: \S/.test(title)),
    [],
  )
  const numbers = [...titles.map((title) => Number.parseInt(title, 10)), ...ENTRIES.flatMap(replacedBy)]
  assert.deepEqual(
    numbers.filter((number, i) => numbers.indexOf(number) !== i),
    [],
  )
})

test(`no decision is longer than ${ENTRY_LINES_MAX} lines of ${WIDTH_MAX} characters`, () => {
  const isLong = (entry: string) => {
    const lines = entry
      .split('\n')
      .slice(1)
      .filter((line) => line !== '')
    return lines.length > ENTRY_LINES_MAX || lines.some((line) => line.length > WIDTH_MAX)
  }
  assert.deepEqual(ENTRIES.filter(isLong).map(titleOf), [])
})

test('the index links to every section, and to no other target', () => {
  const linked = [...INDEX.matchAll(/\]\(#([^)]*)\)/g)].map(([, anchor]) => anchor)
  assert.deepEqual(
    linked,
    ROOMS.map((room) => anchorOf(titleOf(room))),
  )
})

test('the decisions and AGENTS.md stay within their line limits', () => {
  const linesOf = (text: string) => text.trimEnd().split('\n').length
  assert.ok(linesOf(TEXT) <= LINES_MAX)
  assert.ok(linesOf(read('AGENTS.md')) <= MAP_LINES_MAX)
})
