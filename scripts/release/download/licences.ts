import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const LICENCE_FILE = /^(?:un)?licen[cs]e|^copying|^notice|^third-party-licen[cs]e/i
const LICENCE_SECTION = /^#+\s*licen[cs]e\s*$([\s\S]*)/im
const COPYRIGHT = /copyright/i

/** Texts of licences that packages only name. */
const TEXTS: Record<string, string> = {
  MIT: `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`,
  ISC: `Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby
granted, provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF
THIS SOFTWARE.`,
}

/**
 * Licences of packages and other contents of the program, in sequence. Throws if one has none: it must not be shipped.
 */
export function licencesText(root: string, packages: readonly string[], others: ReadonlyMap<string, string>): string {
  const parts = [
    ...others,
    ...[...new Set(packages)].sort().map((folder) => {
      const { name, version } = readPackage(join(root, folder))
      return [`${name} ${version}`, licenceOf(join(root, folder))] as const
    }),
  ]
  return parts.map(([title, text]) => `${'='.repeat(80)}\n${title}\n${'='.repeat(80)}\n\n${text.trim()}\n`).join('\n')
}

function licenceOf(folder: string): string {
  const names = readdirSync(folder)
    .filter((name) => LICENCE_FILE.test(name))
    .sort()
  const texts = names.map((name) => readFileSync(join(folder, name), 'utf8').trim()).filter((text) => text !== '')
  if (texts.length > 0) return texts.join('\n\n')
  const [, section = ''] = LICENCE_SECTION.exec(readmeOf(folder)) ?? []
  if (COPYRIGHT.test(section)) return section
  const { license = 'none', author } = readPackage(folder)
  const text = TEXTS[license]
  if (text === undefined) throw new Error(`the package ${folder} has no licence that is known here (${license})`)
  const owner = author ?? `the authors of ${basename(folder)}`
  return `${license} License, as in its package.json\n\nCopyright (c) ${owner}\n\n${text}`
}

function readmeOf(folder: string): string {
  const name = readdirSync(folder).find((one) => /^readme/i.test(one))
  return name === undefined ? '' : readFileSync(join(folder, name), 'utf8')
}

function readPackage(folder: string): { name: string; version: string; license?: string; author?: string } {
  const path = join(folder, 'package.json')
  if (!existsSync(path)) throw new Error(`${folder} is not a package`)
  const { name, version, license, author } = JSON.parse(readFileSync(path, 'utf8'))
  return { name, version, license, author: typeof author === 'object' ? author?.name : author }
}
