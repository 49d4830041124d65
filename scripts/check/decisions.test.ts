import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

// DECISIONS.md is found by grep and read in passing: a numbered title that names the component, and a few lines.

const LINES_MAX = 5
const WIDTH_MAX = 130

const TEXT = readFileSync(fileURLToPath(new URL('../../DECISIONS.md', import.meta.url)), 'utf8')
const [INDEX = '', ...ENTRIES] = TEXT.split(/^(?=## (?!Index))/m)

const titleOf = (entry: string) => /^## (.*)$/m.exec(entry)?.[1] ?? ''
/** As GitHub names it in links. */
const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

test('each decision has a number of its own and a title that names a component', () => {
  const titles = ENTRIES.map(titleOf)
  assert.deepEqual(
    titles.filter((title) => !/^\d+\. [^:]+: \S/.test(title)),
    [],
  )
  const numbers = titles.map((title) => Number.parseInt(title, 10))
  assert.deepEqual(
    numbers.filter((number, i) => numbers.indexOf(number) !== i),
    [],
  )
})

test(`no decision is longer than ${LINES_MAX} lines of ${WIDTH_MAX} characters`, () => {
  const isLong = (entry: string) => {
    const lines = entry
      .split('\n')
      .slice(1)
      .filter((line) => line !== '')
    return lines.length > LINES_MAX || lines.some((line) => line.length > WIDTH_MAX)
  }
  assert.deepEqual(ENTRIES.filter(isLong).map(titleOf), [])
})

test('the index leads to every decision, and to nothing else', () => {
  const linked = [...INDEX.matchAll(/\]\(#([^)]*)\)/g)].map(([, anchor]) => anchor)
  const anchors = ENTRIES.map((entry) => anchorOf(titleOf(entry)))
  assert.deepEqual([...new Set(linked)].toSorted(), anchors.toSorted())
})
