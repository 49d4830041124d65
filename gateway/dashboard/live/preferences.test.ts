import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Shelf } from './page/kept-text.ts'
import { Preferences, toQuery } from './preferences.ts'

/** Creates a browser's storage. */
function shelfOf(kept: Map<string, string>): Shelf {
  return () => ({
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, text) => void kept.set(name, text),
    removeItem: (name) => void kept.delete(name),
  })
}

test('choices and the PIN user are restored after the next load', () => {
  const kept = new Map<string, string>()
  const before = new Preferences(shelfOf(kept))
  before.choose({ language: 'de' })
  before.choose({ units: 'imperial' })
  before.remember('jane')
  const after = new Preferences(shelfOf(kept))
  after.load()
  assert.deepEqual(after.choice.value, { language: 'de', units: 'imperial' })
  assert.equal(after.personId.value, 'jane')
  after.choose({ language: null })
  after.remember(null)
  const last = new Preferences(shelfOf(kept))
  last.load()
  assert.deepEqual(last.choice.value, { language: null, units: 'imperial' })
  assert.equal(last.personId.value, null)
})

for (const [what, shelf] of [
  [
    'forbidden',
    () => {
      throw new Error('SecurityError')
    },
  ],
  [
    'full',
    () => ({
      getItem: () => null,
      setItem: () => {
        throw new Error('QuotaExceededError')
      },
      removeItem: () => undefined,
    }),
  ],
] as const)
  test(`storage that is ${what} keeps no choice, and choices hold until the next load`, () => {
    const preferences = new Preferences(shelf)
    preferences.load()
    preferences.choose({ language: 'de' })
    preferences.remember('jane')
    assert.deepEqual(preferences.choice.value, { language: 'de', units: null })
    assert.equal(preferences.personId.value, 'jane')
  })

test('invalid stored data is ignored', () => {
  for (const text of ['', 'null', '[]', '7', '{"language":"fr","units":7}', '{'])
    assert.deepEqual(
      (() => {
        const preferences = new Preferences(shelfOf(new Map([['cartbarn.choice', text]])))
        preferences.load()
        return preferences.choice.value
      })(),
      { language: null, units: null },
      text,
    )
})

test('choices from another address fill unset ones, and invalid ones are ignored', () => {
  const here = new Preferences(shelfOf(new Map()))
  here.choose({ units: 'imperial' })
  here.adopt(toQuery({ language: 'de', units: 'metric' }))
  assert.deepEqual(here.choice.value, { language: 'de', units: 'imperial' })
  here.choose({ language: null })
  here.adopt('?language=%22&units=miles&language')
  assert.deepEqual(here.choice.value, { language: null, units: 'imperial' })
  assert.equal(toQuery({ language: null, units: null }), '')
})
