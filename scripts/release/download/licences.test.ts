import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { bundledPackages } from '../bundled-packages.ts'
import { licencesText } from './licences.ts'

const root = mkdtempSync(join(tmpdir(), 'cartbarn-licences-'))
after(() => rmSync(root, { recursive: true, force: true }))

/** Installs a package; returns the name of its folder. */
function install(name: string, about: object, files: Record<string, string> = {}): string {
  const folder = `node_modules/${name}`
  mkdirSync(join(root, folder), { recursive: true })
  writeFileSync(join(root, folder, 'package.json'), JSON.stringify({ name, version: '1.0.0', ...about }))
  for (const [file, text] of Object.entries(files)) writeFileSync(join(root, folder, file), text)
  return folder
}

const textOf = (...packages: string[]) => licencesText(root, packages, new Map())

test('packages are known by the paths of modules, also those inside of others', () => {
  const modules = [
    '/x/node_modules/a/lib/b.js',
    '/x/node_modules/a/node_modules/@c/d/e.js',
    '/x/node_modules/a/f.js?used',
    '\0rolldown/runtime.js',
    '/x/shared/time.ts',
  ]
  assert.deepEqual(bundledPackages(modules), ['node_modules/a', 'node_modules/a/node_modules/@c/d'])
})

test('each package has its licence, each once, in the same order', () => {
  const b = install('b', {}, { LICENCE: 'Licence of b', NOTICE: 'Notice of b' })
  const a = install('@x/a', {}, { 'license.md': 'Licence of a' })
  const text = textOf(b, a, b)
  assert.equal(text, textOf(a, b))
  assert.match(text, /@x\/a 1\.0\.0[\s\S]*Licence of a[\s\S]*b 1\.0\.0[\s\S]*Licence of b\n\nNotice of b\n$/)
  assert.equal(text.split('Licence of b').length, 2)
})

test('where the file is missing the licence is in the readme, or it is a known one', () => {
  const inReadme = install('readme', {}, { 'README.md': '# It\n\n## License\n\nCopyright (c) 2013 Her\n' })
  const named = install('named', { license: 'MIT', author: { name: 'Him' } }, { 'README.md': '## License\n\nMIT\n' })
  assert.match(textOf(inReadme), /Copyright \(c\) 2013 Her/)
  assert.match(textOf(named), /Copyright \(c\) Him\n\nPermission is hereby granted/)
})

test('a package without a licence is not shipped', () => {
  for (const [name, about, files] of [
    ['none', {}, {}],
    ['empty', {}, { LICENSE: ' ' }],
    ['unknown', { license: 'SEE LICENSE IN MIT.txt' }, {}],
  ] as const)
    assert.throws(() => textOf(install(name, about, { ...files })), new RegExp(`${name} has no licence`))
})
