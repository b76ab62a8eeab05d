/* A disk that fails, as a library to be preloaded into a process. See doc.go. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 1 << 18 }; /* files of up to 1 GiB */

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static int (*real_fsync)(int);
static int (*real_unlink)(const char *);

__attribute__((constructor)) static void load(void) {
	real_pwrite = dlsym(RTLD_NEXT, "pwrite");
	real_pread = dlsym(RTLD_NEXT, "pread");
	real_fsync = dlsym(RTLD_NEXT, "fsync");
	real_unlink = dlsym(RTLD_NEXT, "unlink");
}

/* path_of writes the path of a file below the directory that is watched. */
static int path_of(int fd, char *path) {
	char link[64];
	const char *dir = getenv("DISKFAULT_DIR");
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, PATH_MAX - 1);
	if (n < 0 || !dir)
		return 0;
	path[n] = 0;
	return strncmp(path, dir, strlen(dir)) == 0;
}

/* fails reports whether the control file has this call fail. Its one line says
 * which calls ("r", "w", "s" or several), the end of the path, and how many such calls
 * succeed before how many fail. Another line begins the count anew. With a fifth word the
 * calls do not fail: they take so many milliseconds, which delay is then. */
static int fails(char call, const char *path, long *delay) {
	static char last[512];
	static long seen;
	char line[512] = "", calls[8], suffix[256];
	long skip, count, slow = 0;
	int fd = open(getenv("DISKFAULT_CONTROL"), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, line, sizeof line - 1);
	close(fd);
	if (n <= 0 || sscanf(line, "%7s %255s %ld %ld %ld", calls, suffix, &skip, &count, &slow) < 4)
		return 0;
	if (strcmp(line, last)) {
		strcpy(last, line);
		seen = 0;
	}
	size_t have = strlen(path), want = strlen(suffix);
	if (!strchr(calls, call) || have < want || strcmp(path + have - want, suffix))
		return 0;
	seen++;
	if (seen <= skip || seen > skip + count)
		return 0;
	*delay = slow;
	return !slow;
}

/* wait_for has a call take its time. Others go on meanwhile. */
static void wait_for(long delay) {
	struct timespec left = {delay / 1000, delay % 1000 * 1000000};
	if (!delay)
		return;
	pthread_mutex_unlock(&mu);
	while (nanosleep(&left, &left) && errno == EINTR)
		;
	pthread_mutex_lock(&mu);
}

/* dirty maps one byte for each page of a file: 1 means written and not synced.
 * It is a file too, so that it outlives a killed process as the page cache does. */
static unsigned char *dirty_of(const char *path, char *image) {
	char name[PATH_MAX];
	const char *base = strrchr(path, '/');
	snprintf(image, PATH_MAX, "%s%s", getenv("DISKFAULT_IMAGE"), base);
	snprintf(name, sizeof name, "%s%s.dirty", getenv("DISKFAULT_CACHE"), base);
	int fd = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, PAGES))
		abort();
	unsigned char *map = mmap(0, PAGES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		abort();
	return map;
}

/* flush copies the dirty pages of a file to the image, as a sync does. After a
 * failed sync the pages are clean all the same, and nowhere on the disk. */
static void flush(int fd, const char *path, int failed) {
	char image[PATH_MAX], page[PAGE];
	unsigned char *dirty = dirty_of(path, image);
	struct stat s;
	int to = failed ? -1 : open(image, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (fstat(fd, &s))
		abort();
	for (long n = 0; n < PAGES; n++) {
		if (!dirty[n])
			continue;
		ssize_t got = to < 0 ? 0 : real_pread(fd, page, PAGE, (off_t)n * PAGE);
		if (got > 0 && real_pwrite(to, page, got, (off_t)n * PAGE) != got)
			abort();
		dirty[n] = 0;
	}
	if (to >= 0) {
		if (ftruncate(to, s.st_size))
			abort();
		close(to);
	}
	munmap(dirty, PAGES);
}

static ssize_t write_at(int fd, const void *data, size_t size, off_t at) {
	char path[PATH_MAX], image[PATH_MAX];
	if (!path_of(fd, path))
		return real_pwrite(fd, data, size, at);
	pthread_mutex_lock(&mu);
	ssize_t n = -1;
	long delay = 0;
	int failed = fails('w', path, &delay);
	wait_for(delay);
	if (failed) {
		errno = EIO;
	} else if ((n = real_pwrite(fd, data, size, at)) > 0 && getenv("DISKFAULT_IMAGE")) {
		unsigned char *dirty = dirty_of(path, image);
		memset(dirty + at / PAGE, 1, (at + n - 1) / PAGE - at / PAGE + 1);
		munmap(dirty, PAGES);
	}
	pthread_mutex_unlock(&mu);
	return n;
}

static ssize_t read_at(int fd, void *data, size_t size, off_t at) {
	char path[PATH_MAX];
	if (path_of(fd, path)) {
		pthread_mutex_lock(&mu);
		long delay = 0;
		int failed = fails('r', path, &delay);
		wait_for(delay);
		pthread_mutex_unlock(&mu);
		if (failed) {
			errno = EIO;
			return -1;
		}
	}
	return real_pread(fd, data, size, at);
}

static int sync_file(int fd) {
	char path[PATH_MAX];
	struct stat s;
	if (!path_of(fd, path) || fstat(fd, &s) || !S_ISREG(s.st_mode))
		return real_fsync(fd);
	pthread_mutex_lock(&mu);
	long delay = 0;
	int failed = fails('s', path, &delay);
	wait_for(delay); /* killed meanwhile, it has synced nothing */
	if (getenv("DISKFAULT_IMAGE"))
		flush(fd, path, failed);
	pthread_mutex_unlock(&mu);
	if (failed) {
		errno = EIO;
		return -1;
	}
	return 0; /* the real disk is not what is tested */
}

/* unlink removes a file from the image too: a journaling file system has made that
 * durable when it syncs the next file. */
int unlink(const char *path) {
	char image[PATH_MAX];
	const char *dir = getenv("DISKFAULT_DIR");
	if (dir && getenv("DISKFAULT_IMAGE") && strncmp(path, dir, strlen(dir)) == 0) {
		pthread_mutex_lock(&mu);
		munmap(memset(dirty_of(path, image), 0, PAGES), PAGES);
		real_unlink(image);
		pthread_mutex_unlock(&mu);
	}
	return real_unlink(path);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return write_at(fd, data, size, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) { return write_at(fd, data, size, at); }
ssize_t pread(int fd, void *data, size_t size, off_t at) { return read_at(fd, data, size, at); }
ssize_t pread64(int fd, void *data, size_t size, off_t at) { return read_at(fd, data, size, at); }
int fsync(int fd) { return sync_file(fd); }
int fdatasync(int fd) { return sync_file(fd); }
