import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Number of files that share a process, in sequence: loading the program takes longer than many of them run. */
const FILES_A_GROUP = 12

/**
 * Writes files into `folder`, each of which runs some of `paths` as separate suites, so that the hooks of a test file
 * apply only to that file. Returns the files to run. Those that match `isAlone` are not grouped. The files of a folder
 * take about as long as each other, so each group gets files of many folders: otherwise one group of screens or
 * processes would run long after all others.
 */
export function writeGroups(paths: readonly string[], folder: string, isAlone: (path: string) => boolean): string[] {
  const together = paths.filter((path) => !isAlone(path))
  const count = Math.ceil(together.length / FILES_A_GROUP)
  const groups = Array.from({ length: count }, (_, first) => together.filter((_, at) => at % count === first))
  const files = groups.map((group) => {
    const file = join(folder, nameOf(group))
    writeFileSync(file, groupSource(group))
    return file
  })
  return [...paths.filter(isAlone), ...files]
}

/** Returns the name of the group for the runner and the leak check: its first file and the number of the others. */
function nameOf([first = '', ...others]: readonly string[]): string {
  const name = first.replace(/\.test\.ts$/, '').replaceAll('/', '.')
  return others.length === 0 ? `${name}.test.mjs` : `${name}-and-${others.length}-more.test.mjs`
}

function groupSource(paths: readonly string[]): string {
  const suites = paths.map(
    (path) => `describe(${JSON.stringify(path)}, () => import(${JSON.stringify(pathToFileURL(path).href)}))\n`,
  )
  return `import { describe } from 'node:test'\n${suites.join('')}`
}
