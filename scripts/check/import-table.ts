import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Line of the table in AGENTS.md: the imports allowed in the files of a folder. */
export interface ImportRule {
  /** Folder (`gateway/store/`), file (`shared/log.ts`) or the tests below a folder (`gateway/**\/*.test.ts`). */
  files: string
  /** Folders of this project, each as named in `files` of another rule. */
  folders: readonly string[]
  /** Packages by name; `node:` stands for all of Node, `*` for every package and Node. */
  packages: readonly string[]
}

/** Maps `#store` to `gateway/store/`, according to `#store/*` in package.json. */
export type Aliases = ReadonlyMap<string, string>

const ROW = /^\| `([^`]+)` \|[^|]*\|([^|]*)\|/

/** Reads the folder of each `#name` in package.json. */
export function readAliases(root: string): Aliases {
  const { imports }: { imports: Record<string, string> } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return new Map(
    Object.entries(imports).map(([name, path]) => [name.replace('/*', ''), path.replace(/^\.\/|\*$/g, '')]),
  )
}

/**
 * Reads the table of AGENTS.md, whose third column lists the allowed imports: `#store`, `#shared/{wire,trips}`,
 * `#hub/**` (with all folders below), `node:`, packages. Throws an `Error` that quotes a line it cannot parse.
 */
export function readImportTable(root: string, aliases: Aliases): ImportRule[] {
  const rows = readFileSync(join(root, 'AGENTS.md'), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, files, cell = ''] = ROW.exec(line) ?? []
      return files === undefined
        ? []
        : [{ files, tokens: [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, token = '']) => expand(token)) }]
    })
  const folders = rows.map(({ files }) => files).filter((files) => files.endsWith('/'))
  return rows.map(({ files, tokens }) => ({
    files,
    folders: tokens.filter((token) => token.startsWith('#')).flatMap((token) => foldersOf(token, folders, aliases)),
    packages: tokens.filter((token) => !token.startsWith('#')),
  }))
}

/** Expands `#shared/{wire,trips}` to `#shared/wire` and `#shared/trips`. */
function expand(token: string): string[] {
  const [, head, list, tail] = /^(.*)\{(.*)\}(.*)$/.exec(token) ?? []
  return list === undefined ? [token] : list.split(',').map((part) => `${head}${part}${tail}`)
}

function foldersOf(token: string, folders: readonly string[], aliases: Aliases): string[] {
  const isDeep = token.endsWith('/**')
  const path = folderOf(isDeep ? token.slice(0, -3) : token, aliases)
  const found = folders.filter((folder) => (isDeep ? folder.startsWith(path) : folder === path))
  if (found.length === 0) throw new Error(`AGENTS.md: no line of the table is about ${token} (${path})`)
  return found
}

/** Converts `#shared/wire` to `shared/wire/`. */
function folderOf(token: string, aliases: Aliases): string {
  const [name = '', ...rooms] = token.split('/')
  const folder = aliases.get(name)
  if (folder === undefined) throw new Error(`package.json has no ${name} among its imports`)
  return `${[folder.slice(0, -1), ...rooms].join('/')}/`
}
