import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countsOf } from '#shared/course/course.ts'
import { readCourse } from '#shared/course/read-course.ts'
import { createCourse } from './course.ts'
import { drawingOf } from './drawing.ts'

const drawing = drawingOf(createCourse(1, { lat: 28.41, long: -81.58 }), 20)

test('the map of a simulated course has eighteen holes with greens and surrounding features', () => {
  const { holes, greens, tees, fairways, paths, bunkers, water, woods, buildings, outlines } = countsOf(
    drawing.features,
  )
  assert.deepEqual([holes, greens, tees, fairways, paths, outlines], [18, 18, 18, 14, 18, 1])
  assert.ok(bunkers >= 36 && water >= 2 && woods >= 10 && buildings === 2)
})

test('the map is read unchanged, and is small', () => {
  const text = JSON.stringify({ type: 'FeatureCollection', ...drawing })
  assert.deepEqual(readCourse(JSON.parse(text)).features, drawing.features)
  assert.ok(text.length < 200_000, `${text.length}`)
})
