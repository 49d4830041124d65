import type { Course } from '#shared/course/course.ts'
import { CourseFault, type CourseFaultKind } from '#shared/course/course-fault.ts'
import { readCourse } from '#shared/course/read-course.ts'

/** As the gateway takes it; a file may have more in it that is not kept. */
const COURSE_BYTES = 5 * 1_048_576
const FILE_BYTES = 64 * 1_048_576

/** What is wrong with a file of the course. */
export type FileFault = CourseFaultKind | 'too_large'

/** The course in a file, as it would be sent. */
export async function readCourseFile(file: Blob): Promise<Course | FileFault> {
  if (file.size > FILE_BYTES) return 'too_large'
  try {
    const course = readCourse(JSON.parse(await file.text()))
    return new Blob([JSON.stringify(course)]).size > COURSE_BYTES - 1000 ? 'too_large' : course
  } catch (error) {
    return error instanceof CourseFault ? error.kind : 'not_geojson'
  }
}
