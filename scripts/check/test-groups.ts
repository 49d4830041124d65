import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** So many files share a process, one after the other: loading the program takes longer than many of them run. */
const FILES_A_GROUP = 12

/**
 * Writes files into `folder`, each of which runs some neighbours of `paths` as suites of its own: hooks of a test file
 * concern that file only. Returns the files to run. Those that `isAlone` are not put together with others.
 */
export function writeGroups(paths: readonly string[], folder: string, isAlone: (path: string) => boolean): string[] {
  const together = paths.filter((path) => !isAlone(path))
  const groups = []
  for (let at = 0; at < together.length; at += FILES_A_GROUP) groups.push(together.slice(at, at + FILES_A_GROUP))
  const files = groups.map((group) => {
    const file = join(folder, nameOf(group))
    writeFileSync(file, groupSource(group))
    return file
  })
  return [...paths.filter(isAlone), ...files]
}

/** What the runner and the look for leaks call the group: the first of it and how many come after. */
function nameOf([first = '', ...others]: readonly string[]): string {
  const name = first.replace(/\.test\.ts$/, '').replaceAll('/', '.')
  return others.length === 0 ? `${name}.test.mjs` : `${name}-and-${others.length}-after-it.test.mjs`
}

function groupSource(paths: readonly string[]): string {
  const suites = paths.map(
    (path) => `describe(${JSON.stringify(path)}, () => import(${JSON.stringify(pathToFileURL(path).href)}))\n`,
  )
  return `import { describe } from 'node:test'\n${suites.join('')}`
}
