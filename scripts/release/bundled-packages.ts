const PACKAGE = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/

/** Returns the packages, as folders below the root of the project, that contain the modules of a bundle. */
export function bundledPackages(modules: readonly string[]): string[] {
  const folders = modules.flatMap((path) => PACKAGE.exec(path)?.[0] ?? [])
  return [...new Set(folders.map((folder) => folder.slice(folder.indexOf('/node_modules/') + 1)))].sort()
}
