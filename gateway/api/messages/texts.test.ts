import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fails, ok, pluck, scene } from '#testing/scene.ts'

const { g, onlyFor } = scene({ inScope: [] })

onlyFor('staff', ['GET', '/texts'])
onlyFor('admins', ['PUT', '/texts', []])

const text = (text_id: string, fields: object = {}) => ({ text_id, en: 'Lunch', de: 'Essen', ...fields })

test('a new gateway has six texts in both languages, of which the weather is urgent', async () => {
  const texts = await ok(g.get('/texts'))
  assert.deepEqual(pluck(texts, 'text_id'), ['keep-up', 'let-through', 'cart-path', 'weather', 'closing', 'kiosk'])
  for (const { en, de, is_urgent, text_id } of texts) {
    assert.ok(en !== '' && de !== '' && en !== de, text_id)
    assert.equal(is_urgent, text_id === 'weather')
  }
})

test('the list is replaced as a whole, trimmed, and may be empty', async () => {
  const fog = { text_id: 'fog-2', en: 'Fog on hole 2.', de: 'Nebel auf Bahn 2.', is_urgent: true }
  const texts = await ok(g.put('/texts', [text('lunch', { en: ' Lunch is ready. ' }), fog]))
  assert.deepEqual(texts, [{ ...text('lunch'), en: 'Lunch is ready.', is_urgent: false }, fog])
  assert.deepEqual(await ok(g.get('/texts')), texts)
  assert.deepEqual(await ok(g.put('/texts', [])), [])
  assert.deepEqual(await ok(g.get('/texts')), [])
})

const REJECTED: [what: string, body: unknown, code: string, name: string][] = [
  ['the same id twice', [text('a'), text('b'), text('a')], 'duplicate_id', '[2].text_id'],
  ['an id with capitals', [text('Fog')], 'invalid_field', '[0].text_id'],
  ['an id of 33 characters', [text('a'.repeat(33))], 'invalid_field', '[0].text_id'],
  ['an empty text', [text('a', { de: ' ' })], 'invalid_field', '[0].de'],
  ['a text of 201 characters', [text('a', { en: 'x'.repeat(201) })], 'invalid_field', '[0].en'],
  ['a text of two lines', [text('a', { en: 'x\ny' })], 'invalid_field', '[0].en'],
  ['a text in one language', [{ text_id: 'a', en: 'x' }], 'missing_field', '[0].de'],
  ['an unknown field', [text('a', { fr: 'x' })], 'unknown_field', '[0].fr'],
]
for (const [what, body, code, name] of REJECTED)
  test(`${what} is rejected, and the list stays`, async () => {
    const before = await ok(g.get('/texts'))
    const problem = await fails(g.put('/texts', body), 400, code)
    assert.equal(problem.errors[0].name, name)
    assert.deepEqual(await ok(g.get('/texts')), before)
  })

test('21 texts are rejected', async () => {
  await fails(
    g.put(
      '/texts',
      Array.from({ length: 21 }, (_, i) => text(`t-${i}`)),
    ),
    400,
    'invalid_field',
  )
})

test('an erasure removes a text that is the name of a person', async () => {
  await ok(g.put('/texts', [text('a'), text('b', { en: 'Jane Doe' })]))
  const { other } = await ok(g.post('/erasures', { person: 'jane doe' }))
  assert.ok(other >= 1, String(other))
  assert.deepEqual(pluck(await ok(g.get('/texts')), 'text_id'), ['a'])
})
