import { type CourseCounts, type CourseFeature, countsOf } from '#shared/course/course.ts'
import { CourseFault, type CourseFaultKind } from '#shared/course/course-fault.ts'
import { proposeZones } from '#shared/course/propose-zones.ts'
import { readCourse } from '#shared/course/read-course.ts'
import { ZONE_NAMES } from '#shared/course/zone-names.ts'
import { InvalidRequestError } from '#shared/errors.ts'
import { readJsonObject } from '#shared/json-body.ts'
import { readPhoto } from '#shared/photo/photo.ts'
import { PhotoFault } from '#shared/photo/photo-fault.ts'
import type { Photo } from '#shared/photo/photo-type.ts'
import type { SiteZone } from '#shared/zones/zone.ts'
import type { ReaderTools } from './telemetry/reader-tools.ts'

/** Course as parsed from the request body, or the reason it is invalid. */
export type ReadDrawing =
  | { kind: 'read'; attribution: string | null; featuresJson: string; counts: CourseCounts }
  | { kind: 'refused'; fault: CourseFaultKind; message: string }

/** Parses the JSON of a course, megabytes that would block the main thread. Throws `invalid_json`, `invalid_body`. */
export function readDrawing(_: ReaderTools, { bytes }: { bytes: Uint8Array }): ReadDrawing {
  try {
    const { features, attribution } = readCourse(readJsonObject(bytes, { mayBeVast: true }))
    return {
      kind: 'read',
      attribution,
      featuresJson: JSON.stringify(features),
      counts: countsOf(features),
    }
  } catch (error) {
    if (!(error instanceof CourseFault)) throw error
    return { kind: 'refused', fault: error.kind, message: error.message }
  }
}

/** Proposes zones for the features of a course, with names in a language. */
export function proposeDrawnZones(
  _: ReaderTools,
  { featuresJson, language }: { featuresJson: string; language: keyof typeof ZONE_NAMES },
): SiteZone[] {
  // written by this program only
  const features: CourseFeature[] = JSON.parse(featuresJson)
  return proposeZones({ features }, ZONE_NAMES[language])
}

/** Reads an image as `readPhoto` does. Throws `invalid_image`. */
export function readImage(_: ReaderTools, { bytes }: { bytes: Uint8Array }): Photo {
  try {
    return readPhoto(bytes)
  } catch (error) {
    if (!(error instanceof PhotoFault)) throw error
    throw new InvalidRequestError('invalid_image', error.message)
  }
}
