import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { typedCommand } from './typed-command.ts'

const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

test('a command is typed by its own name where the program is installed, and through npm from the sources', () => {
  for (const [command, fromSources] of [
    ['run', 'npm start'],
    ['hub', 'npm run hub'],
    ['repair', 'npm run repair'],
    ['admin-key', 'npm run admin-key'],
    ['hub site add NAME', 'npm run hub -- site add NAME'],
    ['sync-import', 'npm run sync:import'],
    ['sync-export --receipt', 'npm run sync:export -- --receipt'],
  ] as const) {
    assert.equal(typedCommand(command, true), `cartbarn ${command}`)
    assert.equal(typedCommand(command, false), fromSources)
    const script = fromSources.replace('npm run ', '').replace('npm ', '').split(' ')[0] ?? ''
    assert.match(scripts[script], new RegExp(`cartbarn\\.ts ${command.split(' ')[0]}$`))
  }
})
