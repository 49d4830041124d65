// Part of npm run check: every import is allowed by the table in AGENTS.md, and there are no circular imports.
import { globSync } from 'node:fs'
import { ImportCheck, readSources } from './imports.ts'

const root = process.cwd()
const paths = globSync('{gateway,cloud-sync,shared,scripts}/**/*.{ts,tsx,mjs}', {
  cwd: root,
  exclude: ['**/node_modules/**', '**/*.d.ts'],
})
const findings = ImportCheck.of(root).findings(readSources(root, paths))
for (const finding of findings) console.error(finding)
process.exitCode = findings.length > 0 ? 1 : 0
