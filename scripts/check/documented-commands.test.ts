import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { COMMANDS } from '#scripts/commands/product-commands.ts'
import { startGateway } from '#testing/start-gateway.ts'

// The commands in the pages: each exists, with the options that it is given, and each endpoint does.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAGES = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/*.md', { cwd: ROOT })]
/** Commands in code: `npm run NAME …`, `npm start …` and `cartbarn NAME …`, up to the end of the code or a comment. */
const COMMAND = /(?:npm (run [a-z][\w:-]*|start|test)|(?<![\w/.-])cartbarn ([a-z][a-z-]*))([^`|#\n]*)/g

interface Typed {
  readonly page: string
  readonly text: string
  /** Script of package.json, or null for a command of the installed program. */
  readonly script: string | null
  readonly name: string
  readonly options: readonly string[]
}

/** Words after `cartbarn` in messages and file names. */
const NO_COMMANDS = ['is', 'on', 'newer']

/** Code of a page: its blocks, and what stands between backquotes. */
function codeOf(page: string): string[] {
  const text = readFileSync(`${ROOT}/${page}`, 'utf8')
  const blocks = [...text.matchAll(/^```[a-z]*\n(.*?)^```/gms)].map(([, block = '']) => block)
  const inline = [...text.replace(/^```.*?^```/gms, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)
  // lines that go on are one
  return [...blocks.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n')), ...inline]
}

function typedIn(page: string): Typed[] {
  return codeOf(page).flatMap((code) =>
    [...code.matchAll(COMMAND)].map(([text, script, command = '', rest = '']) => ({
      page,
      text,
      script: script === undefined ? null : script.replace('run ', ''),
      name: script === undefined ? command : script.replace('run ', ''),
      options: [...rest.matchAll(/(?<=\s)--[a-z][\w-]*/g)].map(([option]) => option),
    })),
  )
}

const typed = PAGES.filter((page) => globSync(page, { cwd: ROOT }).length > 0).flatMap(typedIn)

test('each script of npm in the pages exists', () => {
  const { scripts } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8'))
  const unknown = typed.filter(({ script }) => script !== null && !(script in scripts))
  assert.deepEqual(
    unknown.map(({ page, text }) => `${page}: ${text}`),
    [],
  )
  assert.ok(typed.length > 100, `${typed.length} commands`)
})

test('each command of cartbarn in the pages exists, and knows the options it is given', async () => {
  const own = typed.filter(({ script, name }) => script === null && !NO_COMMANDS.includes(name))
  const wrong: string[] = []
  for (const [name, uses] of Map.groupBy(own, ({ name }) => name)) {
    const help = await helpOf(name)
    if (help === '') wrong.push(`${uses[0]?.page}: ${uses[0]?.text}`)
    for (const { page, text, options } of uses)
      for (const option of options) if (!help.includes(option)) wrong.push(`${page}: ${text} (${option})`)
  }
  assert.deepEqual(wrong, [])
})

test('each endpoint in the pages exists', async (t) => {
  const g = await startGateway()
  t.after(() => g.stop())
  const { body } = await g.request('GET', '/openapi.json')
  const patterns = Object.keys(body.paths).map((path) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`))
  const unknown = PAGES.flatMap((page) => {
    if (['docs/api-hub.md', 'docs/hub.md', 'docs/head-office.md'].includes(page) || !page.startsWith('docs/')) return []
    const named = codeOf(page).flatMap((code) => [...code.matchAll(/^(?:GET|POST|PUT|PATCH|DELETE) (\/[^\s?]*)/g)])
    return named
      .map(([, path = '']) => path.replaceAll(/\/:\w+|\/\{\w+\}/g, '/x'))
      .filter((path) => !path.startsWith('/sites') && !patterns.some((pattern) => pattern.test(path)))
      .map((path) => `${page}: ${path}`)
  })
  assert.deepEqual(unknown, [])
})

/** Returns the help of a command and of its subcommands; empty for an unknown command. */
async function helpOf(name: string): Promise<string> {
  const load = COMMANDS.find(([known]) => known === name)?.[2]
  if (load === undefined) return ''
  const run = await load()
  const help = async (...argv: string[]) => {
    let text = ''
    const stdout = new PassThrough().on('data', (chunk) => {
      text += chunk
    })
    const { signal } = new AbortController()
    const stdin = new PassThrough()
    // the help ends the command with an error of its own
    await run([...argv, '--help'], { env: {}, folder: ROOT, stdin, stdout, stderr: stdout, signal }).catch(() => 0)
    return text
  }
  const own = await help()
  const subcommands = [...own.matchAll(/^ {2}([a-z][a-z-]*)(?: .*)? {2}/gm)].map(([, one = '']) => one)
  return [own, ...(await Promise.all(subcommands.map((one) => help(one))))].join('\n')
}
