// npm run build:client [-- FOLDER]: packs the typed client as an npm package, into build/ by default.
import { packClient } from './client-package.ts'

const [folder = 'build'] = process.argv.slice(2)
console.log(await packClient(folder))
