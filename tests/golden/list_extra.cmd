list everything
