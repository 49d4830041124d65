import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CourseFault } from './course-fault.ts'
import { readCourse } from './read-course.ts'

const lineOf = (properties: object, coordinates: number[][], id?: string) => ({
  type: 'Feature',
  ...(id === undefined ? {} : { id }),
  properties,
  geometry: { type: 'LineString', coordinates },
})
/** Holes around a place, 300 m each. */
const holesAt = (long: number, lat: number) =>
  Array.from({ length: 9 }, (_, i) =>
    lineOf({ golf: 'hole', ref: String(i + 1) }, [
      [long + i / 1000, lat],
      [long + i / 1000, lat + 0.003],
    ]),
  )
const read = (...features: unknown[]) => readCourse({ type: 'FeatureCollection', features })

for (const [what, features, kind, named] of [
  [
    'a hole with a point at 0, 0',
    [
      ...holesAt(8, 50),
      lineOf(
        { golf: 'hole', ref: '7' },
        [
          [8, 50],
          [0, 0],
          [8, 50.001],
        ],
        'way/7',
      ),
    ],
    'hole_too_long',
    'features[9] (way/7, 7)',
  ],
  [
    'a hole whose last point has latitude first',
    [
      lineOf({ golf: 'hole', name: 'Road' }, [
        [8, 50],
        [50, 8],
      ]),
      ...holesAt(8, 50),
    ],
    'hole_too_long',
    'features[0] (Road)',
  ],
  [
    'a hole of many short pieces',
    [
      ...holesAt(8, 50),
      lineOf(
        { golf: 'hole' },
        Array.from({ length: 100 }, (_, i) => [8 + (i % 2) / 1000, 50]),
      ),
    ],
    'hole_too_long',
    'features[9]',
  ],
  [
    'a hole from pole to pole alone',
    [
      lineOf({ golf: 'hole' }, [
        [-179, -80],
        [179, 80],
      ]),
    ],
    'hole_too_long',
    'features[0]',
  ],
  [
    'a path to another town',
    [
      lineOf(
        { highway: 'path' },
        [
          [8, 50],
          [8.4, 50.1],
        ],
        'way/9',
      ),
      ...holesAt(8, 50),
    ],
    'course_too_wide',
    'features[0] (way/9)',
  ],
  ['two courses', [...holesAt(8, 50), ...holesAt(8, 50.5).slice(2)], 'course_too_wide', 'features['],
] as const) {
  test(`${what} is refused as ${kind}, and the fault names the feature`, () => {
    assert.throws(
      () => read(...features),
      (error) => error instanceof CourseFault && error.kind === kind && error.message.includes(named),
    )
  })
}

test('a course on both sides of the 180th meridian is as wide as any other', () => {
  assert.equal(read(...holesAt(179.99, -16.8), ...holesAt(-179.999, -16.8)).features.length, 18)
})

test('a course 18 km wide with a hole of 1.9 km is taken', () => {
  const long = lineOf({ golf: 'hole' }, [
    [8, 50],
    [8, 50.017],
  ])
  assert.equal(
    read(
      ...holesAt(8, 50),
      lineOf({ highway: 'path' }, [
        [8, 50],
        [8.24, 50],
      ]),
      long,
    ).features.length,
    11,
  )
})
