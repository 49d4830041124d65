import { testShort } from '../run-short.ts'
import { staff } from './scenarios.ts'

testShort(staff, ['ingest', 'list', 'tablets'])
