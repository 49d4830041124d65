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
  test('spreading a literal is reported', () => {
    const spread = ['f(', '  ...[1, 2],', '  ...([1] as const),', ')', 'export const a = { ...{ b: 1 } }'].join('\n')
    assert.deepEqual(broken(spread), ['spread of a literal: 2', 'spread of a literal: 3', 'spread of a literal: 5'])
  })

  test('spreading literal attributes is reported', () => {
    assert.deepEqual(broken('export const a = <A {...{ b }} {...c} />', 'gateway/dashboard/a.tsx'), [
      'spread of a literal: 1',
    ])
  })

  test('spreading values, conditionals and rest parameters is allowed', () => {
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

  test('a folder has at most 28 files, a layer of nouns at most 40', () => {
    assert.deepEqual(scopes([...files('gateway/broker', 28), ...files('gateway/api', 40)]), [])
    assert.deepEqual(scopes([...files('gateway/broker', 29), ...files('gateway/api', 41)]), [
      'gateway/broker',
      'gateway/api',
    ])
  })

  test('subfolders and tests do not count', () => {
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
  const wordsOf = (text: string, path = PATH) =>
    broken(text, path).map((one) => one.replace(/^word "(.*)" \(.*\)/, '$1'))

  test('private words are found in comments, texts and documents, each with its standard terms', () => {
    assert.deepEqual(wordsOf("// nobody knows\nlog('the hub was told of it')\nconst t = `it was anew`"), [
      'nobody: 1',
      'told: 2',
      'of it: 2',
      'anew: 3',
    ])
    assert.deepEqual(wordsOf('Whoever stands\nbeside the cart', 'docs/app.md'), ['whoever: 1', 'beside: 2'])
    assert.deepEqual(wordsOf('what is such that somebody leaves it as it came', 'README.md').length, 4)
    assert.deepEqual(broken('// nobody'), ['word "nobody" (write no user, no client, none): 1'])
  })

  test('names, keys, quotes, code, addresses, tests and texts for staff do not count', () => {
    assert.deepEqual(wordsOf("const told = row.told\nconst key = 'told'\n// see `recipientsOf` and `told`"), [])
    assert.deepEqual(wordsOf('// "nobody", was_told, https://example.org/told and a/told/b'), [])
    assert.deepEqual(wordsOf('// nobody', 'gateway/api/users.test.ts'), [])
    assert.deepEqual(wordsOf("// nobody\nconst t = 'nobody knows'", 'gateway/dashboard/texts/cart.ts'), [])
  })

  test('some words are limited to paths or to comments', () => {
    assert.deepEqual(wordsOf('// the next look', 'gateway/dashboard/a.ts'), [])
    assert.deepEqual(wordsOf('// the next look'), ['look: 1'])
    assert.deepEqual(wordsOf("// head office\nconst t = 'the head office'"), ['head office: 1'])
    assert.deepEqual(wordsOf('the head office', 'docs/sync.md'), [])
  })

  test('an exception applies to its file only', () => {
    assert.deepEqual(wordsOf('// no heartbeat', 'gateway/broker/aedes-internals.ts'), [])
    assert.deepEqual(wordsOf('// no heartbeat', 'gateway/broker/broker.ts'), ['beat: 1'])
  })

  test('a docstring that begins with a question word is reported', () => {
    assert.deepEqual(broken('/** Whether it is on. */\n/**\n * How many wait.\n */\n/** Due messages. */'), [
      'first word of a docstring: 1',
      'first word of a docstring: 2',
    ])
  })
})

test('a table named in the SQL of more than three files is reported', () => {
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

  test('an unchanged count is not a difference', () => {
    assert.deepEqual(differences(two, countFindings(two)), [])
  })

  test('a higher count is reported with its positions', () => {
    assert.deepEqual(differences(two, countFindings(one)), [
      'gateway/api: word "nobody" (write no user, no client, none): 2, at most 1',
      `  ${PATH}:1`,
      `  ${PATH}:2`,
    ])
  })

  test('a lower count must be recorded', () => {
    const [line] = differences([], countFindings(one))
    assert.match(
      line ?? '',
      /^gateway\/api: word "nobody" .*: 0, at most 1: write it down by npm run check -- --ratchet$/,
    )
  })

  test('only counts that have not risen in total can be recorded', () => {
    assert.deepEqual(risenRules(two, countFindings(one)), ['word "nobody" (write no user, no client, none)'])
    assert.deepEqual(risenRules(elsewhere, countFindings(two)), [])
  })
})
