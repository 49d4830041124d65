// Part of npm run check: the countable rules of the code base. ratchet.json has the number of violations of each rule
// in each folder, which may only fall; --ratchet writes it, unless the total of a rule has risen.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { type Counts, countFindings, differences, risenRules } from './house/ratchet.ts'
import { findingsIn } from './house/rules.ts'

const RATCHET = 'scripts/check/house/ratchet.json'

const paths = globSync(['{gateway,cloud-sync,shared,scripts}/**/*.{ts,tsx,mjs}', '*.md', 'docs/**/*.md'], {
  exclude: ['**/node_modules/**', '**/*.d.ts', '**/dist/**', 'CHANGELOG.md'],
})
const findings = findingsIn(paths.map((path) => ({ path, text: readFileSync(path, 'utf8') })))
const ratchet: Counts | null = existsSync(RATCHET) ? JSON.parse(readFileSync(RATCHET, 'utf8')) : null

if (process.argv.includes('--ratchet')) {
  const risen = ratchet === null ? [] : risenRules(findings, ratchet)
  if (risen.length === 0) writeFileSync(RATCHET, `${JSON.stringify(countFindings(findings), null, 2)}\n`)
  else console.error(`has risen, so nothing is written: ${risen.join(', ')}`)
  process.exitCode = risen.length > 0 ? 1 : 0
} else {
  const lines = differences(findings, ratchet ?? {})
  for (const line of lines) console.error(line)
  process.exitCode = lines.length > 0 ? 1 : 0
}
