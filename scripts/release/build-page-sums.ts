// npm run build:page-sums: compiles the extension that checks the pages of the database, for all supported systems.
import { binaryOf, buildPageSums, COMPILERS } from './page-sums.ts'

for (const system of Object.keys(COMPILERS)) {
  buildPageSums(system, binaryOf(system))
  console.log(binaryOf(system))
}
