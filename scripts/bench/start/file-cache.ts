import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Takes the files of a folder out of the file cache, and nobody else's: coreutils' dd tells the kernel so. */
export function forgetFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    if (!statSync(file).isFile()) continue
    execFileSync('dd', [`of=${file}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none'])
  }
}
