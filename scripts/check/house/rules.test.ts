import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { countFindings, differences, risenRules } from './ratchet.ts'
import { type CheckedFile, findingsIn } from './rules.ts'

const PATH = 'gateway/api/users.ts'

/** `rule: line` of each finding in a file. */
const broken = (text: string, path = PATH) => findingsIn([{ path, text }]).map(({ rule, line }) => `${rule}: ${line}`)

const files = (folder: string, amount: number): CheckedFile[] =>
  Array.from({ length: amount }, (_, i) => ({ path: `${folder}/file-${i}.ts`, text: '' }))

suite('spreads', () => {
  test('a literal is not spread', () => {
    const spread = ['f(', '  ...[1, 2],', '  ...([1] as const),', ')', 'export const a = { ...{ b: 1 } }'].join('\n')
    assert.deepEqual(broken(spread), ['spread of a literal: 2', 'spread of a literal: 3', 'spread of a literal: 5'])
  })

  test('nor is one of attributes', () => {
    assert.deepEqual(broken('export const a = <A {...{ b }} {...c} />', 'gateway/dashboard/a.tsx'), [
      'spread of a literal: 1',
    ])
  })

  test('values, choices and rest parameters are', () => {
    assert.deepEqual(broken('export const f = (...[a]: number[]) => [...b, ...(a ? [1] : []), ...[1].map(c)]'), [])
  })
})

suite('lines', () => {
  test('a line of code, of a test or of a document has 120 characters at most', () => {
    for (const path of [PATH, 'gateway/api/users.test.ts', 'docs/api.md', 'README.md'])
      assert.deepEqual(broken(`\n${'x'.repeat(121)}\n${'x'.repeat(120)}`, path), ['longer than 120: 2'])
  })

  test('addresses and tables of documents may be longer', () => {
    assert.deepEqual(broken(`// https://example.org/${'x'.repeat(121)}`), [])
    assert.deepEqual(broken(`| ${'x'.repeat(121)} |`, 'docs/api.md'), [])
  })
})

suite('loose files', () => {
  const scopes = (all: CheckedFile[]) => [...new Set(findingsIn(all).map(({ scope }) => scope))]

  test('a folder has 28, a layer of nouns 40', () => {
    assert.deepEqual(scopes([...files('gateway/broker', 28), ...files('gateway/api', 40)]), [])
    assert.deepEqual(scopes([...files('gateway/broker', 29), ...files('gateway/api', 41)]), [
      'gateway/broker',
      'gateway/api',
    ])
  })

  test('rooms and tests do not count', () => {
    assert.deepEqual(
      scopes([
        ...files('gateway/broker', 28),
        ...files('gateway/broker/status', 5),
        { path: 'gateway/broker/a.test.ts', text: '' },
      ]),
      [],
    )
  })
})

suite('words', () => {
  test('private words are found in comments, texts and documents', () => {
    assert.deepEqual(broken("// nobody knows\nlog('the hub was told of it')\nconst t = `it is said`"), [
      'word: nobody: 1',
      'word: told: 2',
      'word: of it: 2',
      'word: is said: 3',
    ])
    assert.deepEqual(broken('Whoever stands\nbeside the cart', 'docs/app.md'), ['word: whoever: 1', 'word: beside: 2'])
    assert.deepEqual(broken('what is such that somebody leaves it as it came', 'README.md').length, 4)
  })

  test('names, keys, code in quotes and tests do not count', () => {
    assert.deepEqual(broken("const told = row.told\nconst key = 'told'\n// see `recipientsOf` and `told`"), [])
    assert.deepEqual(broken('// nobody', 'gateway/api/users.test.ts'), [])
  })

  test('a docstring does not begin with a question', () => {
    assert.deepEqual(broken('/** Whether it is on. */\n/**\n * What is due.\n */\n/** Due messages. */'), [
      'word: what is: 3',
      'first word of a docstring: 1',
      'first word of a docstring: 2',
    ])
  })
})

test('a table is named in the SQL of three files', () => {
  const named = (text: string, amount: number) =>
    findingsIn([
      { path: 'gateway/store/tables/users.ts', text: "export const userTable = table('user', {})" },
      ...files('gateway/store/reports', amount).map(({ path }) => ({ path, text })),
    ]).map(({ scope }) => scope)
  const join = 'const sql = `SELECT 1 FROM session LEFT JOIN user USING (id)`'
  assert.deepEqual(named(join, 3), [])
  assert.deepEqual(named(join, 4), ['user', 'user', 'user', 'user'])
  assert.deepEqual(named('// FROM user\nconst sql = `SELECT user FROM other`', 4), [])
})

suite('ratchet', () => {
  const two = findingsIn([{ path: PATH, text: '// nobody\n// nobody' }])
  const one = two.slice(1)
  const elsewhere = findingsIn([{ path: 'gateway/broker/a.ts', text: '// nobody\n// nobody' }])

  test('as many as before are no difference', () => {
    assert.deepEqual(differences(two, countFindings(two)), [])
  })

  test('a rise names its places', () => {
    assert.deepEqual(differences(two, countFindings(one)), [
      'gateway/api: word: nobody: 2, at most 1',
      `  ${PATH}:1`,
      `  ${PATH}:2`,
    ])
  })

  test('a fall must be written down', () => {
    const [line] = differences([], countFindings(one))
    assert.equal(line, 'gateway/api: word: nobody: 0, at most 1: write it down by npm run check -- --ratchet')
  })

  test('only what has not risen in all can be written down', () => {
    assert.deepEqual(risenRules(two, countFindings(one)), ['word: nobody'])
    assert.deepEqual(risenRules(elsewhere, countFindings(two)), [])
  })
})
