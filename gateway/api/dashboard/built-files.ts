import { createHash } from 'node:crypto'
import { extname, join } from 'node:path'
import { z } from 'zod'
import type { KeptDocument } from '#shared/http/documents.ts'
import type { Folder } from '#shared/program-files.ts'

export interface BuiltFile extends KeptDocument {
  /** True if the name changes with the content. */
  isHashed: boolean
}

/** Manifest that scripts/release/build-dashboard.ts writes. */
const buildSchema = z.object({ files: z.record(z.string(), z.string()) })

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
  ['identity', ''],
] as const
const HASHED = /^assets\/.+-[\w-]{8}\.\w+$/

/**
 * Reads the files of a build into memory, keyed by name, so that the files served stay complete and of one version
 * during another build. Undefined without a build. Throws an `Error` for a damaged build.
 */
export function readBuiltFiles(folder: Folder): ReadonlyMap<string, BuiltFile> | undefined {
  const list = folder.read('build.json')?.toString()
  if (list === undefined) return undefined
  const { files: sums } = buildSchema.parse(JSON.parse(list))
  const names = Object.keys(sums)
  const read = (name: string): Buffer<ArrayBuffer> => {
    const bytes = folder.read(name) ?? Buffer.alloc(0)
    // a power cut soon after the build may have left the file empty
    if (createHash('sha256').update(bytes).digest('hex') !== sums[name])
      throw new Error(`${join(folder.path, name)} is damaged`)
    return bytes
  }
  return new Map(
    names
      .filter((name) => !/\.(br|gz)$/.test(name))
      .map((name) => [
        name,
        {
          type: TYPES[extname(name)] ?? 'application/octet-stream',
          isHashed: HASHED.test(name),
          forms: ENCODINGS.flatMap(([encoding, ending]) =>
            names.includes(`${name}${ending}`)
              ? [
                  {
                    encoding,
                    etag: `"${sums[name]?.slice(0, 32)}${ending}"`,
                    bytes: read(`${name}${ending}`),
                  },
                ]
              : [],
          ),
        },
      ]),
  )
}
