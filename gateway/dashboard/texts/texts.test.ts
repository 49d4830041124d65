import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { LANGUAGES, language } from './texts.ts'

/** A number with a unit, or a unit in words; "24 h" and "m" within words do not count. */
const METRIC = /km\b|(?:\d|\}) ?m\b|\b[Mm]et(?:re|er)s?\b|\bm\/s/

/** All words of a file of texts, those that are made by a function as its source. */
function wordsIn(words: unknown): string[] {
  if (typeof words === 'string') return [words]
  if (typeof words === 'function') return [words.toString()]
  return typeof words === 'object' && words !== null ? Object.values(words).flatMap(wordsIn) : []
}

test('no text names a metric unit: `format.ts` does, for who measures in metres', async (t) => {
  t.after(() => {
    language.value = 'en'
  })
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  const found: string[] = []
  let count = 0
  for (const file of files) {
    const parts: Readonly<Record<string, unknown>> = await import(`./${file}`)
    for (const [name, texts] of Object.entries(parts)) {
      if (!name.endsWith('Texts') || name === 'defineTexts' || typeof texts !== 'function') continue
      for (const one of LANGUAGES) {
        language.value = one
        const words = wordsIn(texts())
        count += words.length
        found.push(...words.filter((word) => METRIC.test(word)).map((word) => `${file}: ${word}`))
      }
    }
  }
  assert.ok(count > 2_000, `${count} texts were looked at`)
  // the names of the choice itself
  assert.deepEqual(
    found.filter((word) => !word.startsWith('more.ts: Kilomet')),
    [],
  )
})
